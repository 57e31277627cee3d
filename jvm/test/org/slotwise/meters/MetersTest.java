package org.slotwise.meters;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

final class MetersTest {
  private MetersTest() {}

  private static Report report(long arrivals, double busySquared, long due, long... receivers) {
    return new Report(
        "q",
        1,
        2,
        arrivals,
        0,
        0,
        0,
        busySquared,
        0,
        0,
        due,
        due + 1,
        due + 2,
        0,
        Histogram.of(0, receivers),
        Histogram.EMPTY,
        null,
        false);
  }

  static void reportsAreDifferencesButForDueTimes() {
    Report since = report(10, 0.75, 90, 3, 4, 5).minus(report(4, 0.25, 50, 1, 1));
    assert since.arrivals() == 6 && since.busySquared() == 0.5 && since.lastDueMicros() == 90;
    assert since.nextDueMicros() == 91 && since.position() == 92;
    assert java.util.Arrays.equals(since.receivers().counts(), new long[] {2, 3, 5});
  }

  static void aSampleGrowsWithItsTargetsAndLeavesOutNobody() {
    Sample sample = new Sample();
    sample.add(UnsafeArrayData.fromPrimitiveArray(new int[] {0, 5, 5, -1}), 1);
    sample.add(UnsafeArrayData.fromPrimitiveArray(new int[] {9}), 4);
    long[] counts = sample.counts();
    assert counts[0] == 1 && counts[5] == 2 && counts[9] == 4;
    assert java.util.Arrays.stream(counts).sum() == 7;
  }

  static void aRouteCountsForTheThreadItLeadsTo() {
    Sample sample = new Sample();
    int[] first = {0, 2, 5};
    sample.add(new GenericArrayData(new Object[] {route(1, 2, 0), route(2, 0, 0)}), 3, first, 2);
    sample.add(new GenericArrayData(new Object[] {route(1, 2, 9)}), 3, first, 1);
    long[] counts = sample.counts();
    assert counts[4] == 3 && counts[5] == 2;
    assert java.util.Arrays.stream(counts).sum() == 5;
  }

  /** The last field is the partition of the next level, on the way there. */
  private static InternalRow route(int operator, int thread, int hop) {
    return new GenericInternalRow(new Object[] {operator, thread, hop});
  }

  static void anErrorIsReportedWithItsCauses() {
    Exception inner = new IllegalStateException("full");
    String text = TaskMeter.withCauses(new RuntimeException("task failed", inner));
    assert text.endsWith("task failed\nCaused by: java.lang.IllegalStateException: full") : text;
  }

  static void outsideATaskThereIsNoMeter() {
    TaskMeter.end();
    assert TaskMeter.begin() == null;
    assert TaskMeter.current() == null;
  }

  static void allRecordsAreLookedAtUntilThereAreMany() {
    assert TaskMeter.maskFor(0) == 0 && TaskMeter.maskFor(20_000) == 0;
    assert TaskMeter.maskFor(30_000) == 1;
    assert TaskMeter.maskFor(1_000_000) == 63;
  }

  static void aProcessKnowsItself() {
    ProcessReport now = ProcessReport.now("1", "h", java.util.List.of());
    assert now.pid() == ProcessHandle.current().pid();
    assert now.heapBytes() > 0 && now.memoryBytes() > now.heapBytes() / 4;
  }
}
