package org.slotwise.meters;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.util.TaskFailureListener;

/**
 * The counters of one task of a streaming query.
 *
 * <p>The task's thread alone counts; the reporter's thread reads now and then. Hence counters are
 * written lazily (no memory fence) by {@link AtomicLong#lazySet}.
 */
public final class TaskMeter {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final ThreadLocal<TaskMeter> CURRENT = new ThreadLocal<>();
  private static final int MOST_CAUSES = 20;

  final String query;
  final int stage;
  final int partition;
  private final double sampledShare;
  private final long thread = Thread.currentThread().getId();
  private final long cpuAtStart = THREADS.getCurrentThreadCpuTime();

  private final AtomicLong arrivals = new AtomicLong();
  private final AtomicLong emitted = new AtomicLong();
  private final AtomicLong busyNanos = new AtomicLong();
  private final AtomicLong ageMicros = new AtomicLong();
  private final AtomicLong failures = new AtomicLong();
  private final Sample sample = new Sample();
  private final Sample latencies = new Sample();
  private volatile long cpuAtEnd = -1;
  private volatile String error = null;
  private long arrivedAt = -1;
  private Report reported = Report.nothing(this);

  private TaskMeter(String query, TaskContext task, double sampledShare) {
    this.query = query;
    this.stage = task.stageId();
    this.partition = task.partitionId();
    this.sampledShare = sampledShare;
  }

  /** Begins to meter the task of this thread; null if it is not of a streaming query. */
  static TaskMeter begin(double sampledShare) {
    TaskContext task = TaskContext.get();
    String query = task == null ? null : task.getLocalProperty("sql.streaming.queryId");
    if (query == null) {
      return null;
    }
    TaskMeter made = new TaskMeter(query, task, sampledShare);
    CURRENT.set(made);
    // Spark tells of a task only that it was killed, if that happens while it is failing.
    TaskFailureListener listener = (context, thrown) -> made.error = told(thrown);
    task.addTaskFailureListener(listener);
    return made;
  }

  /** What was thrown, and by what it was caused, a line each. */
  static String told(Throwable thrown) {
    StringBuilder text = new StringBuilder(thrown.toString());
    Throwable cause = thrown.getCause();
    for (int depth = 0; cause != null && depth < MOST_CAUSES; depth++, cause = cause.getCause()) {
      text.append("\nCaused by: ").append(cause);
    }
    return text.toString();
  }

  /** The task of this thread ended; what it counted is still to be reported. */
  static void end() {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      meter.cpuAtEnd = THREADS.getCurrentThreadCpuTime();
      CURRENT.remove();
    }
  }

  /** A record came to the operator. Called from generated code, as are those that follow. */
  public static void arrived() {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      add(meter.arrivals, 1);
      meter.arrivedAt = System.nanoTime();
    }
  }

  /** As {@link #arrived()}, of a record that was due at {@code dueMicros}. */
  public static void arrived(long dueMicros) {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      add(meter.ageMicros, nowMicros() - dueMicros);
      arrived();
    }
  }

  /** Records of these ages, together, came to the operator, which took so long for all of them. */
  public static void worked(long records, long nanos, long ageMicros) {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      add(meter.arrivals, records);
      add(meter.busyNanos, nanos);
      add(meter.ageMicros, ageMicros);
    }
  }

  /**
   * The operator is done with its record and sends it to {@code targets}, partitions of the next
   * level.
   */
  public static void emitted(ArrayData targets) {
    TaskMeter meter = CURRENT.get();
    if (meter == null) {
      return;
    }
    if (meter.arrivedAt >= 0) {
      add(meter.busyNanos, System.nanoTime() - meter.arrivedAt);
      meter.arrivedAt = -1;
    }
    meter.send(targets);
  }

  /** As {@link #emitted}, for one more tuple of a record the operator is done with. */
  public static void sent(ArrayData targets) {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      meter.send(targets);
    }
  }

  /** A tuple due at {@code micros} has come to the end of the query. */
  public static void arrivedAtEnd(long micros) {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      meter.latencies.count(Latency.bucket(nowMicros() - micros));
    }
  }

  private static long nowMicros() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
  }

  private void send(ArrayData targets) {
    int count = targets == null ? 0 : targets.numElements();
    add(emitted, count);
    // By chance, not every n-th: records are routed in turns, and turns of equal length would hide.
    if (count > 0 && ThreadLocalRandom.current().nextDouble() < sampledShare) {
      sample.add(targets);
    }
  }

  /** The operator failed on a record, which is left out. */
  public static void failed() {
    TaskMeter meter = CURRENT.get();
    if (meter != null) {
      add(meter.failures, 1);
    }
  }

  private static void add(AtomicLong counter, long more) {
    counter.lazySet(counter.get() + more);
  }

  /** What was counted since the last call. Only the reporter calls this. */
  Report takeReport() {
    boolean isLast = cpuAtEnd >= 0;
    long cpu = isLast ? cpuAtEnd : THREADS.getThreadCpuTime(thread);
    Report now =
        new Report(
            query,
            stage,
            partition,
            arrivals.get(),
            emitted.get(),
            busyNanos.get(),
            Math.max(0, cpu - cpuAtStart),
            ageMicros.get(),
            failures.get(),
            sample.counts(),
            latencies.counts(),
            isLast ? error : null,
            isLast);
    Report since = now.minus(reported);
    reported = now;
    return since;
  }
}
