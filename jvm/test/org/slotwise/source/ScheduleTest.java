package org.slotwise.source;

final class ScheduleTest {
  private ScheduleTest() {}

  private static void near(double found, double wanted) {
    assert Math.abs(found - wanted) < 1e-6 : found + " is not " + wanted;
  }

  private static Schedule points(String text) {
    return Schedule.parse(text, null);
  }

  static void onePointIsAConstantRate() {
    near(points("0:1000").secondsUntil(500), 0.5);
  }

  static void jumpsChangeTheRateAndMayPause() {
    Schedule jumps = points("0:100,2:100,2:0,6:0,6:50");
    near(jumps.secondsUntil(0), 0);
    near(jumps.secondsUntil(199), 1.99);
    near(jumps.secondsUntil(200), 6);
    near(jumps.secondsUntil(250), 7);
  }

  static void aLastRateOfZeroEndsTheStream() {
    Schedule ends = points("0:100,1:100,1:0");
    near(ends.secondsUntil(99), 0.99);
    near(ends.secondsUntil(100), 1);
    assert Double.isInfinite(ends.secondsUntil(101));
  }

  static void betweenPointsTheRateIsLinear() {
    Schedule up = points("0:0,10:100");
    near(up.secondsUntil(0), 0);
    near(up.secondsUntil(125), 5);
    near(up.secondsUntil(500), 10);
    near(up.secondsUntil(600), 11);
    near(points("0:100,10:0").secondsUntil(375), 5);
  }

  static void aPeriodStartsAgain() {
    Schedule burst = Schedule.parse("0:10,4:10,4:60,5:60", "5");
    near(burst.secondsUntil(40), 4);
    near(burst.secondsUntil(70), 4.5);
    near(burst.secondsUntil(100), 5);
    near(burst.secondsUntil(1010), 51);
    near(Schedule.parse("0:10", "5").secondsUntil(123), 12.3);
    near(Schedule.parse("0:0,4:0,4:10", "5").secondsUntil(25), 5 + 5 + 4.5);
  }

  static void recordsByATimeAreTheInverse() {
    for (Schedule each :
        new Schedule[] {
          points("0:1000"),
          points("0:100,2:100,2:0,6:0,6:50"),
          points("0:0,10:100"),
          Schedule.parse("0:10,4:10,4:60,5:60", "5"),
          Schedule.parse("0:0,4:0,4:10", "5")
        }) {
      for (double records = 0.5; records < 1000; records += 7.25) {
        near(each.recordsBy(each.secondsUntil(records)), records);
      }
    }
    near(points("0:100,1:100,1:0").recordsBy(1e9), 100);
    near(points("0:100").recordsBy(-1), 0);
  }

  static void invalidOnesAreRefused() {
    for (String invalid :
        new String[] {
          "", "5", "1000", "0:a", "0:1,", "0:1;2:2", "1:1", "0:1,3:1,2:1", "0:-1", "0:NaN",
          "0:Infinity", "0:1e999", "0:0", "0:0,5:0", "0:5f", "0:1.2.3", "0:1:2", " 0:1"
        }) {
      refused(invalid, null);
    }
    for (String invalid : new String[] {"", "0", "-1", "NaN", "4", "soon"}) {
      refused("0:1,5:1", invalid);
    }
    refused("0:0,5:0,5:1", "5");
  }

  private static void refused(String points, String period) {
    try {
      Schedule.parse(points, period);
    } catch (IllegalArgumentException refused) {
      assert refused.getMessage().startsWith("invalid ") : refused.getMessage();
      return;
    }
    throw new AssertionError("not refused: " + points + " with period " + period);
  }
}
