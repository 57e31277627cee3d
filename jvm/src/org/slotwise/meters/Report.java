package org.slotwise.meters;

import java.io.Serializable;

/**
 * What one task counted in some time.
 *
 * <p>{@code timed} is the number of arrivals that {@code busySquared} (s²) stands for. {@code
 * lastDueMicros} is when the last timed record was due, 0 if there was none. {@code nextDueMicros} is
 * when the next record of a source is due, MAX_VALUE if there is none, 0 if that is not known. {@code
 * position} is where in its topic the last record was, -1 if there was none. {@code receivers} has how many tuples went to each thread. The last report of a task that failed has the
 * {@code error}.
 */
record Report(
    String query,
    int stage,
    int partition,
    long arrivals,
    long emitted,
    long timed,
    long busyNanos,
    double busySquared,
    long cpuNanos,
    long ageMicros,
    long lastDueMicros,
    long nextDueMicros,
    long position,
    long failures,
    Histogram receivers,
    Histogram latencies,
    String error,
    boolean isLast)
    implements Serializable {

  static Report nothing(TaskMeter of) {
    return new Report(
        of.query,
        of.stage,
        of.partition,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        -1,
        0,
        Histogram.EMPTY,
        Histogram.EMPTY,
        null,
        false);
  }

  Report minus(Report before) {
    return new Report(
        query,
        stage,
        partition,
        arrivals - before.arrivals,
        emitted - before.emitted,
        timed - before.timed,
        busyNanos - before.busyNanos,
        busySquared - before.busySquared,
        cpuNanos - before.cpuNanos,
        ageMicros - before.ageMicros,
        lastDueMicros,
        nextDueMicros,
        position,
        failures - before.failures,
        receivers.minus(before.receivers),
        latencies.minus(before.latencies),
        error,
        isLast);
  }
}
