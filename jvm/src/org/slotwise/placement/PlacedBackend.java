package org.slotwise.placement;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;

/**
 * Spark's standalone backend, connected to a master only when {@link #connect} names it.
 *
 * <p>Spark's own waits for its master while the driver starts. This one lets the driver analyse a
 * query first, so that no cluster has to start for a query that Spark refuses.
 */
final class PlacedBackend extends StandaloneSchedulerBackend {
  private final String[] masters;
  private final String driverId = "slotwise-" + System.currentTimeMillis();

  PlacedBackend(TaskSchedulerImpl scheduler, SparkContext context) {
    this(scheduler, context, new String[1]);
  }

  /** Spark reads {@code masters} in its own {@code start}, which {@link #connect} calls. */
  private PlacedBackend(TaskSchedulerImpl scheduler, SparkContext context, String[] masters) {
    super(scheduler, context, masters);
    this.masters = masters;
  }

  /** Called by Spark while the driver starts: there may be no master yet. */
  @Override
  public void start() {}

  /** The master's for this driver; an id of our own while Spark starts without one. */
  @Override
  public String applicationId() {
    return masters[0] == null ? driverId : super.applicationId();
  }

  /** Asks the master at {@code spark://host:port} for executors; waits until it has answered. */
  void connect(String master) {
    masters[0] = master;
    super.start();
  }
}
