package org.slotwise.placement;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;

/** Spark's standalone backend, connected to a master only when {@link #connect} names it. */
final class PlacedBackend extends StandaloneSchedulerBackend implements LateBackend {
  private static final String DYNAMIC = "spark.dynamicAllocation.enabled";

  private final SparkContext context;
  private final String[] masters;
  private final String driverId = "slotwise-" + System.currentTimeMillis();

  PlacedBackend(TaskSchedulerImpl scheduler, SparkContext context) {
    this(scheduler, context, new String[1]);
  }

  /** Spark reads {@code masters} in its own {@code start}, which {@link #connect} calls. */
  private PlacedBackend(TaskSchedulerImpl scheduler, SparkContext context, String[] masters) {
    super(scheduler, context, masters);
    this.context = context;
    this.masters = masters;
  }

  /** Called by Spark while the driver starts: there may be no master yet. */
  @Override
  public void start() {
    String master = LateBackend.atOnce(context.conf());
    if (master != null) {
      StandaloneMaster.workers(master); // Spark would ask one that does not answer for a minute
      connect(master, 0);
    }
  }

  /** The master's for this driver; an id of our own while Spark starts without one. */
  @Override
  public String applicationId() {
    return masters[0] == null ? driverId : super.applicationId();
  }

  /**
   * Registers at {@code spark://host:port}, and waits until the master has answered.
   *
   * <p>Spark registers without a limit and takes what the workers have, unless its own dynamic
   * allocation is on: then it begins with none, and the limit can be set at any time. Queries in
   * real-time mode refuse that setting, so it is on while Spark registers only.
   */
  @Override
  public void connect(String master, int executors) {
    if (masters[0] != null) {
      return;
    }
    masters[0] = master;
    context.conf().set(DYNAMIC, "true");
    try {
      super.start();
    } finally {
      context.conf().set(DYNAMIC, "false");
    }
  }
}
