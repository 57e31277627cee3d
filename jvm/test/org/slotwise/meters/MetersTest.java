package org.slotwise.meters;

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;

final class MetersTest {
  private MetersTest() {}

  private static Report report(long arrivals, long... sampled) {
    return new Report("q", 1, 2, arrivals, 0, 0, 0, 0, 0, sampled, new long[0], null, false);
  }

  static void reportsAreDifferences() {
    Report since = report(10, 3, 4, 5).minus(report(4, 1, 1));
    assert since.arrivals() == 6;
    assert java.util.Arrays.equals(since.sampled(), new long[] {2, 3, 5});
  }

  static void aSampleGrowsWithItsTargetsAndLeavesOutNobody() {
    Sample sample = new Sample();
    sample.add(UnsafeArrayData.fromPrimitiveArray(new int[] {0, 5, 5, -1}), 0);
    sample.add(UnsafeArrayData.fromPrimitiveArray(new int[] {9}), 0);
    long[] counts = sample.counts();
    assert counts[0] == 1 && counts[5] == 2 && counts[9] == 1;
    assert java.util.Arrays.stream(counts).sum() == 4;
  }

  static void anErrorIsToldWithItsCauses() {
    Exception inner = new IllegalStateException("full");
    String told = TaskMeter.told(new RuntimeException("task failed", inner));
    assert told.endsWith("task failed\nCaused by: java.lang.IllegalStateException: full") : told;
  }

  static void outsideATaskThereIsNoMeter() {
    TaskMeter.end();
    assert TaskMeter.begin(0.05) == null;
    assert TaskMeter.current() == null;
  }

  static void allRecordsAreTimedUntilThereAreMany() {
    assert TaskMeter.maskFor(0) == 0 && TaskMeter.maskFor(20_000) == 0;
    assert TaskMeter.maskFor(30_000) == 1;
    assert TaskMeter.maskFor(1_000_000) == 63;
  }

  static void aQuotaIsOfItsHost() {
    assert CpuQuota.cores("127.0.0.1=0.5,127.0.0.11=2.0", "127.0.0.11") == 2.0;
    try {
      CpuQuota.cores("127.0.0.1=0.5", "127.0.0.12");
    } catch (IllegalStateException refused) {
      return;
    }
    throw new AssertionError("not refused");
  }

  static void aProcessKnowsItself() {
    ProcessReport now = ProcessReport.now("1", "h", java.util.List.of());
    assert now.pid() == ProcessHandle.current().pid();
    assert now.heapBytes() > 0 && now.memoryBytes() > now.heapBytes() / 4;
  }
}
