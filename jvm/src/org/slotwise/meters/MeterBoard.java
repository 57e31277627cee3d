package org.slotwise.meters;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.slotwise.placement.PlacedScheduler;
import org.slotwise.placement.QueryStage;

/**
 * The driver's sums of all reports, per query, level and partition.
 *
 * <p>Sums go on over batches and restarts of a query. An executor that dies takes what it counted
 * since its last report with it: a second at most.
 */
public final class MeterBoard {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static volatile MeterBoard current;

  /** One thread's sums since its query began. */
  public static final class ThreadSum {
    public String query;
    public int level;
    public int partition;
    public long arrivals;
    public long emitted;
    public long busyNanos;
    public long cpuNanos;
    public long failures;
    public long[] sampled = new long[0];
    public long[] latencies = new long[0];
    public String executor;
  }

  /** One executor's last report, and the cores it used since the one before. */
  public record ProcessSum(
      String executor,
      String host,
      int slot,
      long pid,
      long atMillis,
      double cores,
      long cpuNanos,
      long memoryBytes,
      long heapBytes) {}

  /** All sums. */
  public record Snapshot(List<ThreadSum> threads, List<ProcessSum> processes) {}

  private final SparkContext context;
  private final Map<String, ThreadSum> threads = new TreeMap<>();
  private final Map<String, ProcessSum> processes = new TreeMap<>();

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
    double cores =
        before == null || report.atMillis() <= before.atMillis()
            ? 0
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
      QueryStage stage = scheduler().stage(task.stage());
      if (stage != null) {
        add(task, stage, report.executor());
      }
    }
  }

  private void add(Report task, QueryStage stage, String executor) {
    String key = String.format("%s %04d %06d", task.query(), stage.level(), task.partition());
    ThreadSum sum = threads.computeIfAbsent(key, unused -> new ThreadSum());
    sum.query = task.query();
    sum.level = stage.level();
    sum.partition = task.partition();
    sum.arrivals += task.arrivals();
    sum.emitted += task.emitted();
    sum.busyNanos += task.busyNanos();
    sum.cpuNanos += task.cpuNanos();
    sum.failures += task.failures();
    sum.executor = executor;
    sum.sampled = sum(sum.sampled, task.sampled());
    sum.latencies = sum(sum.latencies, task.latencies());
  }

  private static long[] sum(long[] before, long[] more) {
    long[] made = Arrays.copyOf(before, Math.max(before.length, more.length));
    for (int i = 0; i < more.length; i++) {
      made[i] += more[i];
    }
    return made;
  }

  /** All sums as JSON; executors that are gone are left out. */
  public synchronized String snapshot() throws JsonProcessingException {
    PlacedScheduler scheduler = scheduler();
    processes.keySet().removeIf(executor -> !scheduler.isExecutorAlive(executor));
    return JSON.writeValueAsString(
        new Snapshot(new ArrayList<>(threads.values()), new ArrayList<>(processes.values())));
  }

  private PlacedScheduler scheduler() {
    return (PlacedScheduler) context.taskScheduler();
  }
}
