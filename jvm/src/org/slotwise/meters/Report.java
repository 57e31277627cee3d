package org.slotwise.meters;

import java.io.Serializable;

/**
 * What one task counted in some time; {@code sampled[p]} records went to partition p. The last one
 * tells why it failed, if it did.
 */
record Report(
    String query,
    int stage,
    int partition,
    long arrivals,
    long emitted,
    long busyNanos,
    long cpuNanos,
    long ageMicros,
    long failures,
    long[] sampled,
    long[] latencies,
    String error,
    boolean isLast)
    implements Serializable {

  private static final long[] NONE = new long[0];

  static Report nothing(TaskMeter of) {
    return new Report(of.query, of.stage, of.partition, 0, 0, 0, 0, 0, 0, NONE, NONE, null, false);
  }

  Report minus(Report before) {
    return new Report(
        query,
        stage,
        partition,
        arrivals - before.arrivals,
        emitted - before.emitted,
        busyNanos - before.busyNanos,
        cpuNanos - before.cpuNanos,
        ageMicros - before.ageMicros,
        failures - before.failures,
        difference(sampled, before.sampled),
        difference(latencies, before.latencies),
        error,
        isLast);
  }

  private static long[] difference(long[] now, long[] before) {
    long[] made = now.clone();
    for (int i = 0; i < before.length; i++) {
      made[i] -= before[i];
    }
    return made;
  }
}
