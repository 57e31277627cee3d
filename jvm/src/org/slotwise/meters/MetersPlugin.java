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
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Meters in every executor, reported to the driver each second. {@code spark.slotwise.meters}
 * (default true) turns the counting off; {@code spark.slotwise.meters.sample} (default 0.05) is the
 * share of records whose targets are counted. Executors with a CPU quota enter it here.
 */
public final class MetersPlugin implements SparkPlugin {
  private static final int REPORT_MILLIS = 1000;

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new Executor();
  }

  private static final class Driver implements DriverPlugin {
    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      MeterBoard.begin(context);
      return Map.of();
    }

    @Override
    public Object receive(Object message) {
      MeterBoard.current().add((ProcessReport) message);
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
    private double sampledShare;

    @Override
    public void init(PluginContext context, Map<String, String> fromDriver) {
      plugin = context;
      CpuQuota.enter(context);
      sampledShare = context.conf().getDouble("spark.slotwise.meters.sample", 0.05);
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
      TaskMeter made = reporter == null ? null : TaskMeter.begin(sampledShare);
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

    /** Exceptions would end the schedule; a driver that is gone is told to nobody. */
    private void report() {
      List<Report> reports = new ArrayList<>();
      for (TaskMeter meter : meters) {
        Report report = meter.takeReport();
        reports.add(report);
        if (report.isLast()) {
          meters.remove(meter);
        }
      }
      try {
        plugin.send(ProcessReport.now(plugin.executorID(), plugin.hostname(), reports));
      } catch (IOException | RuntimeException driverGone) {
        // The executor ends soon, too.
      }
    }

    @Override
    public void shutdown() {
      if (reporter != null) {
        reporter.shutdownNow();
      }
    }
  }
}
