package org.slotwise.meters;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Meters in every executor, reported to the driver each second. {@code spark.slotwise.meters}
 * (default true) turns the counting off. Executors with a CPU quota enter it here, and what a console
 * gets is told here.
 */
public final class MetersPlugin implements SparkPlugin {
  private static final int REPORT_MILLIS = 1000;
  private static final Logger LOG = LoggerFactory.getLogger(MetersPlugin.class);

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }

  private static volatile PluginContext ofExecutor;

  /** From an executor: a line for people who watch the driver; nothing without a plugin. */
  public static void tell(String line) {
    PluginContext context = ofExecutor;
    if (context != null) {
      try {
        context.send(line);
      } catch (IOException failed) {
        LOG.warn("cannot send a line to the driver", failed);
      }
    }
  }

  private static final class Driver implements DriverPlugin {
    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      MeterBoard.begin(context);
      return Map.of();
    }

    @Override
    public Object receive(Object message) {
      if (message instanceof String line) {
        System.err.println(line);
        return null;
      }
      MeterBoard board = MeterBoard.current();
      if (board == null) { // the session has ended
        return null;
      }
      try {
        board.add((ProcessReport) message);
      } catch (RuntimeException failed) { // Spark logs it at level INFO only
        LOG.warn("cannot process a meter report", failed);
      }
      return null;
    }

    @Override
    public void shutdown() {
      MeterBoard.end();
    }
  }

  private static final class Executor implements ExecutorPlugin {
    private final Queue<TaskMeter> meters = new ConcurrentLinkedQueue<>();
    private ScheduledExecutorService reporter;
    private PluginContext plugin;

    @Override
    public void init(PluginContext context, Map<String, String> fromDriver) {
      plugin = context;
      ofExecutor = context;
      CpuQuota.enter(context);
      if (context.conf().getBoolean("spark.slotwise.meters", true)) {
        reporter = Executors.newSingleThreadScheduledExecutor(Executor::daemon);
        reporter.scheduleAtFixedRate(
            this::report, REPORT_MILLIS, REPORT_MILLIS, TimeUnit.MILLISECONDS);
      }
    }

    private static Thread daemon(Runnable work) {
      Thread made = new Thread(work, "slotwise-meters");
      made.setDaemon(true);
      return made;
    }

    @Override
    public void onTaskStart() {
      TaskMeter made = reporter == null ? null : TaskMeter.begin();
      if (made != null) {
        meters.add(made);
      }
    }

    @Override
    public void onTaskSucceeded() {
      TaskMeter.end();
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
      TaskMeter.end();
    }

    /** An exception would end the schedule, and all reports with it. */
    private void report() {
      try {
        plugin.send(ProcessReport.now(plugin.executorID(), host(), takeReports()));
      } catch (IOException | RuntimeException failed) {
        LOG.warn("cannot send a meter report to the driver", failed);
      }
    }

    /** As the scheduler knows it; the context's own hostname() is for drivers only. */
    private static String host() {
      return SparkEnv.get().blockManager().blockManagerId().host();
    }

    private List<Report> takeReports() {
      List<Report> reports = new ArrayList<>();
      for (TaskMeter meter : meters) {
        Report report = meter.takeReport();
        reports.add(report);
        if (report.isLast()) {
          meters.remove(meter);
        }
      }
      return reports;
    }

    @Override
    public void shutdown() {
      if (reporter != null) {
        reporter.shutdownNow();
      }
    }
  }
}
