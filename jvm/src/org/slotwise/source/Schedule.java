package org.slotwise.source;

import java.io.Serializable;
import java.util.Arrays;

/**
 * How the input rate changes over time: linear between points, held after the last one, or from the
 * start again after each period.
 *
 * <p>Written as points {@code 0:1000,60:1000,60:2000}, each {@code seconds:records/s}, the first at
 * second 0; two points at the same second are a jump.
 */
final class Schedule implements Serializable {
  private final double[] seconds;
  private final double[] rates;
  private final double[] reached;

  /** 0: no period. */
  private final double period;

  private Schedule(double[] seconds, double[] rates, double period) {
    this.seconds = seconds;
    this.rates = rates;
    this.period = period;
    this.reached = new double[seconds.length];
    for (int i = 1; i < seconds.length; i++) {
      reached[i] =
          reached[i - 1] + (seconds[i] - seconds[i - 1]) * (rates[i] + rates[i - 1]) / 2;
    }
  }

  /** {@code period} null: the last rate holds from the last point on. */
  static Schedule parse(String points, String period) {
    String[] parts = points.split(",", -1);
    double end = period == null ? 0 : number(period, "period");
    int count = parts.length + (period == null ? 0 : 1);
    double[] seconds = new double[count];
    double[] rates = new double[count];
    for (int i = 0; i < parts.length; i++) {
      String[] pair = parts[i].split(":", -1);
      if (pair.length != 2) {
        throw new IllegalArgumentException(
            "invalid point '" + parts[i] + "': expected SECONDS:RATE, such as 60:1000");
      }
      seconds[i] = number(pair[0], "seconds");
      rates[i] = number(pair[1], "rate");
      if (i == 0 ? seconds[0] != 0 : seconds[i] < seconds[i - 1]) {
        throw new IllegalArgumentException(
            "invalid points '" + points + "': they must start at second 0 and be in order");
      }
    }
    if (period != null) {
      if (end == 0 || end < seconds[parts.length - 1]) {
        throw new IllegalArgumentException(
            "invalid period '" + period + "': it must not end before the last point");
      }
      seconds[parts.length] = end; // the last rate holds until the period's end
      rates[parts.length] = rates[parts.length - 1];
    }
    return checked(new Schedule(seconds, rates, end), points);
  }

  private static Schedule checked(Schedule made, String points) {
    boolean emits =
        made.period > 0
            ? made.reached[made.reached.length - 1] > 0
            : Arrays.stream(made.rates).anyMatch(rate -> rate > 0);
    if (!emits) {
      throw new IllegalArgumentException(
          "invalid points '" + points + "': expected a rate greater than 0");
    }
    return made;
  }

  private static double number(String text, String what) {
    double number = Double.NaN;
    if (text.matches("[0-9.]+([eE][-+]?[0-9]+)?")) { // Java would also read 5f, 0x1p3 and NaN
      try {
        number = Double.parseDouble(text);
      } catch (NumberFormatException notANumber) {
        // refused below
      }
    }
    if (!Double.isFinite(number)) {
      throw new IllegalArgumentException(
          "invalid " + what + " '" + text + "': expected a number >= 0");
    }
    return number;
  }

  /** Seconds after the start at which {@code records} have come; infinite if never. */
  double secondsUntil(double records) {
    int last = reached.length - 1;
    double start = 0;
    double left = records;
    if (period > 0) {
      double rounds = Math.floor(records / reached[last]);
      start = rounds * period;
      left = records - rounds * reached[last];
    }
    int piece = lastUpTo(reached, left);
    double rest = left - reached[piece];
    if (rest <= 0) {
      return start + seconds[piece];
    }
    double rate = rates[piece];
    double slope =
        piece == last ? 0 : (rates[piece + 1] - rate) / (seconds[piece + 1] - seconds[piece]);
    // The stable root of rate·t + slope·t²/2 = rest.
    double root = rate + Math.sqrt(Math.max(rate * rate + 2 * slope * rest, 0));
    return root > 0 ? start + seconds[piece] + 2 * rest / root : Double.POSITIVE_INFINITY;
  }

  /** How many records have come so many seconds after the start. */
  double recordsBy(double time) {
    int last = reached.length - 1;
    double before = 0;
    double left = Math.max(time, 0);
    if (period > 0) {
      double rounds = Math.floor(left / period);
      before = rounds * reached[last];
      left -= rounds * period;
    }
    int piece = lastUpTo(seconds, left);
    double since = left - seconds[piece];
    double slope =
        piece == last ? 0 : (rates[piece + 1] - rates[piece]) / (seconds[piece + 1] - seconds[piece]);
    return before + reached[piece] + since * (rates[piece] + slope * since / 2);
  }

  /** The last of rising numbers that is no more than the limit: pauses and jumps are passed over. */
  private static int lastUpTo(double[] numbers, double limit) {
    int found = Arrays.binarySearch(numbers, limit);
    int last = found >= 0 ? found : -found - 2;
    while (last + 1 < numbers.length && numbers[last + 1] <= limit) {
      last++;
    }
    return last;
  }
}
