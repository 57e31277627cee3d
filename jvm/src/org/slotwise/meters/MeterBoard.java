package org.slotwise.meters;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.slotwise.placement.PlacedScheduler;
import org.slotwise.placement.QueryStage;

/**
 * The driver's sums of all reports, per query, level and partition: over all batches, and for the
 * last {@value #KEPT_BATCHES} of them each.
 *
 * <p>Sums go on over batches and restarts of a query, until it is told to {@link #forget} them. An
 * executor that dies takes what it counted since its last report with it: a second at most.
 */
public final class MeterBoard {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int KEPT_BATCHES = 64;
  private static final int KEPT_ERRORS = 1000;
  private static volatile MeterBoard current;

  /** One thread's sums since its query began, or was last forgotten. */
  public static final class ThreadSum {
    public String query;
    public int level;
    public int partition;
    public long arrivals;
    public long emitted;
    public long timed;
    public long busyNanos;
    public double busySquared;
    public long cpuNanos;
    public long ageMicros;
    public long lastDueMicros;
    public long nextDueMicros;
    public long position = -1;
    public long failures;
    public Histogram receivers = Histogram.EMPTY;
    public Histogram latencies = Histogram.EMPTY;
    public String executor;
    private int stage;

    private void add(Report task, QueryStage stage, String ranAt) {
      this.stage = task.stage();
      query = task.query();
      level = stage.level();
      partition = task.partition();
      arrivals += task.arrivals();
      emitted += task.emitted();
      timed += task.timed();
      busyNanos += task.busyNanos();
      busySquared += task.busySquared();
      cpuNanos += task.cpuNanos();
      ageMicros += task.ageMicros();
      lastDueMicros = task.lastDueMicros() > 0 ? task.lastDueMicros() : lastDueMicros;
      nextDueMicros = task.nextDueMicros() > 0 ? task.nextDueMicros() : nextDueMicros;
      position = task.position() >= 0 ? task.position() : position;
      failures += task.failures();
      executor = ranAt;
      receivers = receivers.plus(task.receivers());
      latencies = latencies.plus(task.latencies());
    }
  }

  /** One executor's last report, and the cores it used since the one before; null: there is none. */
  public record ProcessSum(
      String executor,
      String host,
      int slot,
      long pid,
      long atMillis,
      Double cores,
      long cpuNanos,
      long memoryBytes,
      long heapBytes) {}

  /** Why a task failed. */
  public record TaskError(int stage, int partition, String message) {}

  /** All sums. */
  public record Snapshot(List<ThreadSum> threads, List<ProcessSum> processes) {}

  private final SparkContext context;
  private final Map<String, ThreadSum> threads = new TreeMap<>();
  private final Map<String, Map<String, ThreadSum>> batches = new LinkedHashMap<>();
  private final Map<String, ProcessSum> processes = new TreeMap<>();
  private final Deque<TaskError> errors = new ArrayDeque<>();

  /** Per query, the stage up to which reports no longer count. */
  private final Map<String, Integer> forgotten = new HashMap<>();

  private MeterBoard(SparkContext context) {
    this.context = context;
  }

  static void begin(SparkContext context) {
    current = new MeterBoard(context);
  }

  static void end() {
    current = null;
  }

  /** The board of the running session; null if its meters are off. */
  public static MeterBoard current() {
    return current;
  }

  synchronized void add(ProcessReport report) {
    ProcessSum before = processes.get(report.executor());
    Double cores =
        before == null || report.atMillis() <= before.atMillis()
            ? null
            : (report.cpuNanos() - before.cpuNanos())
                / (1e6 * (report.atMillis() - before.atMillis()));
    processes.put(
        report.executor(),
        new ProcessSum(
            report.executor(),
            report.host(),
            scheduler().slotOf(report.executor()),
            report.pid(),
            report.atMillis(),
            cores,
            report.cpuNanos(),
            report.memoryBytes(),
            report.heapBytes()));
    for (Report task : report.tasks()) {
      if (task.error() != null) {
        errors.addLast(new TaskError(task.stage(), task.partition(), task.error()));
        if (errors.size() > KEPT_ERRORS) {
          errors.removeFirst();
        }
      }
      QueryStage stage = scheduler().stage(task.stage());
      if (stage != null && task.stage() > forgotten.getOrDefault(task.query(), -1)) {
        add(task, stage, report.executor());
      }
    }
  }

  private void add(Report task, QueryStage stage, String executor) {
    String key = String.format("%s %04d %06d", task.query(), stage.level(), task.partition());
    threads.computeIfAbsent(key, unused -> new ThreadSum()).add(task, stage, executor);
    addToBatch(key, task, stage, executor);
  }

  /** A batch that is repeated after a failure counts anew: its stages have higher numbers. */
  private void addToBatch(String key, Report task, QueryStage stage, String executor) {
    Map<String, ThreadSum> sums =
        batches.computeIfAbsent(batchKey(task.query(), stage.batch()), unused -> new TreeMap<>());
    ThreadSum sum = sums.get(key);
    if (sum == null || sum.stage < task.stage()) {
      sum = new ThreadSum();
      sums.put(key, sum);
    }
    if (sum.stage <= task.stage()) {
      sum.add(task, stage, executor);
    }
    if (batches.size() > KEPT_BATCHES) {
      batches.remove(batches.keySet().iterator().next());
    }
  }

  /**
   * The sums of a stopped query begin anew: it is going to run with other threads. What its tasks
   * until now are still to report is left out.
   */
  public synchronized void forget(String query) {
    forgotten.put(query, scheduler().lastStage());
    threads.values().removeIf(sum -> sum.query.equals(query));
    batches.keySet().removeIf(key -> key.startsWith(batchKey(query, "")));
  }

  private static String batchKey(String query, Object batch) {
    return query + " " + batch;
  }

  /** All sums as JSON; executors that are gone are left out. */
  public String snapshot() throws JsonProcessingException {
    return snapshot(threads);
  }

  /** As {@link #snapshot()}, of what one of the last batches counted. */
  public synchronized String batch(String query, long batch) throws JsonProcessingException {
    return snapshot(batches.getOrDefault(batchKey(query, batch), Map.of()));
  }

  private synchronized String snapshot(Map<String, ThreadSum> sums)
      throws JsonProcessingException {
    PlacedScheduler scheduler = scheduler();
    processes.keySet().removeIf(executor -> !scheduler.isExecutorAlive(executor));
    return JSON.writeValueAsString(
        new Snapshot(new ArrayList<>(sums.values()), new ArrayList<>(processes.values())));
  }

  /** Why tasks of streaming queries failed, oldest first, as JSON. */
  public synchronized String errors() throws JsonProcessingException {
    return JSON.writeValueAsString(errors);
  }

  private PlacedScheduler scheduler() {
    return (PlacedScheduler) context.taskScheduler();
  }
}
