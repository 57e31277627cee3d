package org.slotwise.source;

import java.io.Serializable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The options of the paced source; a wrong one is refused. */
record Pace(
    int partitions, Schedule schedule, Arrivals arrivals, Payload payload, long end, long delayMs)
    implements Serializable {

  static Pace parse(CaseInsensitiveStringMap options) {
    int partitions = (int) whole(options, "partitions", 1, 1);
    Arrivals arrivals =
        Arrivals.parse(
            options.getOrDefault("arrivals", "constant"), whole(options, "seed", 0, Long.MIN_VALUE));
    long end = whole(options, "records", Long.MAX_VALUE, 0);
    return new Pace(
        partitions,
        schedule(options),
        arrivals,
        Payload.parse(options.getOrDefault("payload", "id")),
        end,
        whole(options, "delayMs", 0, 0));
  }

  private static Schedule schedule(CaseInsensitiveStringMap options) {
    if (!options.containsKey("points")) {
      throw new IllegalArgumentException(
          "the paced source needs the option 'points', such as 0:1000 for 1,000 records/s");
    }
    return Schedule.parse(options.get("points"), options.get("period"));
  }

  private static long whole(
      CaseInsensitiveStringMap options, String name, long otherwise, long least) {
    String text = options.get(name);
    try {
      long number = text == null ? otherwise : Long.parseLong(text);
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException notANumber) {
      // refused below
    }
    throw new IllegalArgumentException(
        "invalid " + name + " '" + text + "': expected an integer >= " + least);
  }

  /** When the next record of a span is due, µs since the epoch; Long.MAX_VALUE for never. */
  long dueMicros(long startMicros, Span span) {
    double seconds = schedule.secondsUntil(span.due());
    return Double.isInfinite(seconds) ? Long.MAX_VALUE : startMicros + Math.round(seconds * 1e6);
  }

  /** How many records of the schedule are due by a time, µs since the epoch. */
  double recordsBy(long startMicros, long micros) {
    return schedule.recordsBy((micros - startMicros) * 1e-6);
  }
}
