package org.slotwise.meters;

import java.io.Serializable;

/** What one task counted in some time; {@code sampled[p]} records went to partition p. */
record Report(
    String query,
    int stage,
    int partition,
    long arrivals,
    long emitted,
    long busyNanos,
    long cpuNanos,
    long failures,
    long[] sampled,
    boolean isLast)
    implements Serializable {

  static Report nothing(TaskMeter of) {
    return new Report(of.query, of.stage, of.partition, 0, 0, 0, 0, 0, new long[0], false);
  }

  Report minus(Report before) {
    long[] difference = sampled.clone();
    for (int i = 0; i < before.sampled.length; i++) {
      difference[i] -= before.sampled[i];
    }
    return new Report(
        query,
        stage,
        partition,
        arrivals - before.arrivals,
        emitted - before.emitted,
        busyNanos - before.busyNanos,
        cpuNanos - before.cpuNanos,
        failures - before.failures,
        difference,
        isLast);
  }
}
