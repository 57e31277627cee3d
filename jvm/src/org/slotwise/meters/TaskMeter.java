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
 * <p>Counts are exact. Times are of all records up to {@value #ALL_PER_SECOND} arrivals a second, and
 * receivers of all tuples up to as many that are sent; above that some are chosen by chance, and
 * stand for the others.
 *
 * <p>The task's thread alone counts; the reporter's thread reads now and then. Hence counters are
 * written lazily (no memory fence) by {@link AtomicLong#lazySet}.
 */
public final class TaskMeter {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final ThreadLocal<TaskMeter> CURRENT = new ThreadLocal<>();
  private static final int MOST_CAUSES = 20;
  private static final int ALL_PER_SECOND = 20_000;

  final String query;
  final int stage;
  final int partition;
  private final long thread = Thread.currentThread().getId();
  private final long cpuAtStart = THREADS.getCurrentThreadCpuTime();

  private final AtomicLong arrivals = new AtomicLong();
  private final AtomicLong emitted = new AtomicLong();
  private final AtomicLong timed = new AtomicLong();
  private final AtomicLong busyNanos = new AtomicLong();

  /** In s², the bits of a double: a long of ns² would overflow within seconds. */
  private final AtomicLong busySquared = new AtomicLong();

  private final AtomicLong ageMicros = new AtomicLong();
  private final AtomicLong lastDueMicros = new AtomicLong();
  private final AtomicLong nextDueMicros = new AtomicLong();
  private final AtomicLong position = new AtomicLong(-1);
  private final AtomicLong failures = new AtomicLong();
  private final Sample receivers = new Sample();
  private final Sample latencies = new Sample();
  private volatile long cpuAtEnd = -1;
  private volatile String error = null;
  private long arrivedAt;
  private int randomState;

  /** How many records the one in work stands for in times and ages; 0 if it is not timed. */
  private int weight;

  /** One of mask + 1 records is timed; the reporter adapts it each second. */
  private volatile int mask;

  /** Likewise, for the receivers of what is sent. */
  private volatile int sentMask;

  private volatile long clockOffsetMicros = clockOffset();
  private Report reported = Report.nothing(this);

  private TaskMeter(String query, TaskContext task) {
    this.query = query;
    this.stage = task.stageId();
    this.partition = task.partitionId();
    this.randomState = ThreadLocalRandom.current().nextInt() | 1;
  }

  /** Begins to meter the task of this thread; null if it is not of a streaming query. */
  static TaskMeter begin() {
    TaskContext task = TaskContext.get();
    String query = task == null ? null : task.getLocalProperty("sql.streaming.queryId");
    if (query == null) {
      return null;
    }
    TaskMeter made = new TaskMeter(query, task);
    CURRENT.set(made);
    // Spark reports a task as killed, and nothing else, if it is killed while it is failing.
    TaskFailureListener listener = (context, thrown) -> made.error = withCauses(thrown);
    task.addTaskFailureListener(listener);
    return made;
  }

  /** What was thrown, and its causes, one per line. */
  static String withCauses(Throwable thrown) {
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

  /** The meter of this thread's task; null if that is not of a streaming query. */
  public static TaskMeter current() {
    return CURRENT.get();
  }

  /** A record came to the operator. Called from generated code, as are those that follow. */
  public void arrived() {
    add(arrivals, 1);
    weight = 0;
    if ((random() & mask) == 0) {
      weight = mask + 1;
      arrivedAt = System.nanoTime();
    }
  }

  /** As {@link #arrived()}, of a record that was due at {@code dueMicros}. */
  public void arrived(long dueMicros) {
    arrived();
    if (weight > 0) {
      lastDueMicros.lazySet(dueMicros);
      add(ageMicros, weight * (epochMicros(arrivedAt) - dueMicros));
    }
  }

  /** As {@link #arrived(long)}, of a record that is at this position of its topic. */
  public void arrived(long dueMicros, long at) {
    arrived(dueMicros);
    position.lazySet(at);
  }

  /**
   * Records of these ages, together, came to the operator, which took so long for all of them. How
   * long it took for each is not known, so none of them counts as timed.
   */
  public void worked(long records, long nanos, long ageMicrosOfAll) {
    add(arrivals, records);
    add(busyNanos, nanos);
    add(ageMicros, ageMicrosOfAll);
  }

  /** The source has taken in all records that were due before this; MAX_VALUE: all there are. */
  public void nextIsDue(long micros) {
    nextDueMicros.lazySet(micros);
  }

  /**
   * The operator is done with its record and sends it to {@code targets}: numbers of threads, or
   * routes of so many {@code fields}; see {@link Sample}.
   */
  public void emitted(ArrayData targets, int fields, int[] first) {
    if (weight > 0) {
      long nanos = System.nanoTime() - arrivedAt;
      add(timed, weight);
      add(busyNanos, weight * nanos);
      double seconds = 1e-9 * nanos;
      double squares = Double.longBitsToDouble(busySquared.get()) + weight * seconds * seconds;
      busySquared.lazySet(Double.doubleToRawLongBits(squares));
      weight = 0;
    }
    sent(targets, fields, first);
  }

  /** As {@link #emitted}, for one more tuple of a record the operator is done with. */
  public void sent(ArrayData targets, int fields, int[] first) {
    int count = targets == null ? 0 : targets.numElements();
    add(emitted, count);
    // By chance, not every n-th: records are routed in turns, and turns of equal length would hide.
    int left = sentMask;
    if (count == 0 || (random() & left) != 0) {
      return;
    }
    if (first == null) {
      receivers.add(targets, left + 1);
    } else {
      receivers.add(targets, fields, first, left + 1);
    }
  }

  /** A tuple due at {@code micros} has come to the end of the query. */
  public void arrivedAtEnd(long micros) {
    if ((random() & mask) == 0) {
      latencies.count(Sketch.bucket(1e-6 * (epochMicros(System.nanoTime()) - micros)), mask + 1);
    }
  }

  /** The operator failed on a record, which is left out. */
  public void failed() {
    add(failures, 1);
  }

  private static void add(AtomicLong counter, long more) {
    counter.lazySet(counter.get() + more);
  }

  /** Marsaglia's xorshift: good enough to choose, and a nanosecond quick. */
  private int random() {
    int x = randomState;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    randomState = x;
    return x;
  }

  private long epochMicros(long nanoTime) {
    return nanoTime / 1000 + clockOffsetMicros;
  }

  private static long clockOffset() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000 + now.getNano() / 1000 - System.nanoTime() / 1000;
  }

  /** So many are looked at that reading the clock stays below a few percent of the work. */
  static int maskFor(long perSecond) {
    int wanted = 0;
    while (perSecond / (wanted + 1) > ALL_PER_SECOND) {
      wanted = 2 * wanted + 1;
    }
    return wanted;
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
            timed.get(),
            busyNanos.get(),
            Double.longBitsToDouble(busySquared.get()),
            Math.max(0, cpu - cpuAtStart),
            ageMicros.get(),
            lastDueMicros.get(),
            nextDueMicros.get(),
            position.get(),
            failures.get(),
            Histogram.of(0, receivers.counts()),
            Histogram.of(0, latencies.counts()),
            isLast ? error : null,
            isLast);
    Report since = now.minus(reported);
    reported = now;
    mask = maskFor(since.arrivals());
    sentMask = maskFor(since.emitted());
    clockOffsetMicros = clockOffset();
    return since;
  }
}
