package org.slotwise.placement;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.YarnClientSchedulerBackend;

/** Spark's YARN backend with the driver in this process, connected by {@link #connect}. */
final class PlacedYarnBackend extends YarnClientSchedulerBackend implements LateBackend {
  private final String driverId = "slotwise-" + System.currentTimeMillis();
  private final SparkContext context;
  private boolean isConnected;

  PlacedYarnBackend(TaskSchedulerImpl scheduler, SparkContext context) {
    super(scheduler, context);
    this.context = context;
  }

  /** Called by Spark while the driver starts: nothing is submitted yet. */
  @Override
  public void start() {
    String master = LateBackend.atOnce(context.conf());
    if (master != null) {
      connect(master, 0);
    }
  }

  /** YARN's for this driver; an id of our own until it is submitted. */
  @Override
  public String applicationId() {
    return isConnected ? super.applicationId() : driverId;
  }

  /**
   * Submits the application, and waits until it runs, at the resource manager of Hadoop's settings. The
   * first executors are those of {@code spark.executor.instances}.
   */
  @Override
  public void connect(String master, int executors) {
    if (!isConnected) {
      super.start();
      isConnected = true;
    }
  }
}
