package org.slotwise.source;

import java.io.Serializable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The options of the paced source; a wrong one is refused with a sentence. */
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
    if (options.containsKey("schedule") == options.containsKey("rate")) {
      throw new IllegalArgumentException("the paced source wants either a rate or a schedule");
    }
    return options.containsKey("schedule")
        ? Schedule.parse(options.get("schedule"))
        : Schedule.constant(rate(options.get("rate")));
  }

  private static double rate(String text) {
    try {
      double rate = Double.parseDouble(text);
      if (rate > 0 && Double.isFinite(rate)) {
        return rate;
      }
    } catch (NumberFormatException notANumber) {
      // told below
    }
    throw new IllegalArgumentException("rate is '" + text + "': write a number above 0");
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
      // told below
    }
    throw new IllegalArgumentException(
        name + " is '" + text + "': write a whole number from " + least);
  }

  /** When the next record of a span is due, µs since the epoch; Long.MAX_VALUE for never. */
  long dueMicros(long startMicros, Span span) {
    double seconds = schedule.secondsUntil(span.due());
    return Double.isInfinite(seconds) ? Long.MAX_VALUE : startMicros + Math.round(seconds * 1e6);
  }
}
