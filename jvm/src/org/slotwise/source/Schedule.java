package org.slotwise.source;

import java.io.Serializable;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the input rate changes over time, as the inverse of the number of records due by a time.
 *
 * <p>Written {@code constant(1000)}, {@code steps(1000@0s, 3000@30s)} (each rate from its time on),
 * {@code ramp(1000, 5000, 60s)} (then stays), {@code sine(1000, 500, 60s)} (mean, amplitude,
 * period). Rates are records/s; times have the unit ms, s, m or h.
 */
interface Schedule extends Serializable {
  /** Seconds after the start at which {@code records} have come; infinite if never. */
  double secondsUntil(double records);

  static Schedule parse(String text) {
    Matcher call = Pattern.compile("\\s*(\\w+)\\s*\\(([^()]*)\\)\\s*").matcher(text);
    if (!call.matches()) {
      throw wrong(text);
    }
    String[] given = call.group(2).trim().split("\\s*,\\s*");
    try {
      return switch (call.group(1) + "/" + (call.group(1).equals("steps") ? "" : given.length)) {
        case "constant/1" -> constant(rate(given[0]));
        case "steps/" -> steps(given);
        case "ramp/3" -> ramp(rate(given[0]), rate(given[1]), seconds(given[2]));
        case "sine/3" -> sine(rate(given[0]), rate(given[1]), seconds(given[2]));
        default -> throw wrong(text);
      };
    } catch (NumberFormatException notANumber) {
      throw wrong(text);
    }
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException(
        "schedule '" + text + "' is not understood: write constant(1000), "
            + "steps(1000@0s, 3000@30s), ramp(1000, 5000, 60s) or sine(1000, 500, 60s)");
  }

  private static double rate(String text) {
    double rate = Double.parseDouble(text);
    if (!(rate >= 0) || Double.isInfinite(rate)) {
      throw new IllegalArgumentException("a rate of " + text + ": write 0 or more records/s");
    }
    return rate;
  }

  /** {@code "90s"} is 90.0. */
  static double seconds(String text) {
    Matcher time = Pattern.compile("([0-9.]+)\\s*(ms|s|m|h)").matcher(text);
    if (!time.matches()) {
      throw new IllegalArgumentException("time '" + text + "': write a number and ms, s, m or h");
    }
    double unit =
        switch (time.group(2)) {
          case "ms" -> 0.001;
          case "m" -> 60;
          case "h" -> 3600;
          default -> 1;
        };
    return Double.parseDouble(time.group(1)) * unit;
  }

  static Schedule constant(double rate) {
    return records -> records / rate;
  }

  private static Schedule steps(String[] given) {
    double[] rates = new double[given.length];
    double[] times = new double[given.length];
    for (int i = 0; i < given.length; i++) {
      String[] step = given[i].split("\\s*@\\s*");
      if (step.length != 2) {
        throw new IllegalArgumentException("step '" + given[i] + "': write rate@time");
      }
      rates[i] = rate(step[0]);
      times[i] = seconds(step[1]);
      if (i == 0 ? times[0] != 0 : times[i] <= times[i - 1]) {
        throw new IllegalArgumentException("steps begin at 0s, and each comes after the one before");
      }
    }
    return steps(rates, times);
  }

  private static Schedule steps(double[] rates, double[] times) {
    double[] before = new double[rates.length];
    for (int i = 1; i < rates.length; i++) {
      before[i] = before[i - 1] + rates[i - 1] * (times[i] - times[i - 1]);
    }
    return records -> {
      int found = Arrays.binarySearch(before, records);
      int step = found >= 0 ? found : -found - 2;
      while (step + 1 < before.length && before[step + 1] <= records) {
        step++; // a pause: nothing comes until the step after it
      }
      double late = records - before[step];
      return rates[step] == 0 ? Double.POSITIVE_INFINITY : times[step] + late / rates[step];
    };
  }

  private static Schedule ramp(double from, double to, double seconds) {
    double during = (from + to) / 2 * seconds;
    double slope = (to - from) / seconds;
    return records ->
        records <= during
            // The stable root of from·t + slope·t²/2 = records.
            ? records == 0 ? 0 : 2 * records / (from + Math.sqrt(from * from + 2 * slope * records))
            : seconds + (records - during) / to;
  }

  private static Schedule sine(double mean, double amplitude, double period) {
    if (amplitude > mean) {
      throw new IllegalArgumentException("a sine's amplitude may not exceed its mean");
    }
    double swing = amplitude * period / (2 * Math.PI);
    return records -> {
      double late = records / mean;
      double early = Math.max(0, late - 2 * swing / mean);
      while (late - early > 1e-7) { // the number of records due by a time grows with it
        double middle = (early + late) / 2;
        double due = mean * middle + swing * (1 - Math.cos(2 * Math.PI * middle / period));
        if (due < records) {
          early = middle;
        } else {
          late = middle;
        }
      }
      return late;
    };
  }
}
