package org.slotwise.source;

final class ScheduleTest {
  private ScheduleTest() {}

  private static void near(double found, double wanted) {
    assert Math.abs(found - wanted) < 1e-6 : found + " is not " + wanted;
  }

  static void constant() {
    near(Schedule.parse("constant(1000)").secondsUntil(500), 0.5);
  }

  static void stepsChangeTheRateAndMayPause() {
    Schedule steps = Schedule.parse("steps(100@0s, 0@2s, 50@0.1m)");
    near(steps.secondsUntil(0), 0);
    near(steps.secondsUntil(199), 1.99);
    near(steps.secondsUntil(200), 6);
    near(steps.secondsUntil(250), 7);
  }

  static void aLastStepOfZeroEndsTheStream() {
    Schedule steps = Schedule.parse("steps(100@0s, 0@1s)");
    near(steps.secondsUntil(99), 0.99);
    assert Double.isInfinite(steps.secondsUntil(100));
  }

  static void rampGrowsThenStays() {
    Schedule ramp = Schedule.parse("ramp(0, 100, 10s)");
    near(ramp.secondsUntil(0), 0);
    near(ramp.secondsUntil(125), 5);
    near(ramp.secondsUntil(500), 10);
    near(ramp.secondsUntil(600), 11);
    near(Schedule.parse("ramp(100, 100, 10s)").secondsUntil(50), 0.5);
    near(Schedule.parse("ramp(100, 0, 10s)").secondsUntil(375), 5);
  }

  static void sineKeepsItsMeanOverAPeriod() {
    Schedule sine = Schedule.parse("sine(100, 100, 10s)");
    near(sine.secondsUntil(1000), 10);
    near(sine.secondsUntil(100 * 5 + 100 * 10 / Math.PI), 5);
  }

  static void wrongOnesAreRefusedWithASentence() {
    for (String wrong :
        new String[] {
          "constant", "constant(a)", "steps(1@1s)", "steps(1@0s, 2@0s)", "steps(5)", "ramp(1, 2)",
          "sine(10, 20, 1s)", "ramp(1, 2, 3)", "constant(-1)", "constant(NaN)", "", "sine()"
        }) {
      try {
        Schedule.parse(wrong);
      } catch (IllegalArgumentException refused) {
        assert refused.getMessage().length() > 20;
        continue;
      }
      throw new AssertionError("not refused: " + wrong);
    }
  }
}
