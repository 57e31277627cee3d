package org.slotwise.placement;

import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.resource.ResourceProfile;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's standalone backend, connected to a master only when {@link #connect} names it.
 *
 * <p>Spark's own waits for its master while the driver starts. This one lets the driver analyse a
 * query first, so that no cluster has to start for a query that Spark refuses.
 */
final class PlacedBackend extends StandaloneSchedulerBackend {
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
  public void start() {}

  /** The master's for this driver; an id of our own while Spark starts without one. */
  @Override
  public String applicationId() {
    return masters[0] == null ? driverId : super.applicationId();
  }

  /**
   * Asks the master at {@code spark://host:port} for so many executors; waits until it has answered.
   *
   * <p>Spark registers without a limit and takes what the workers have, unless its own dynamic
   * allocation is on: then it begins with none, and the limit can be set at any time. Queries in
   * real-time mode refuse that setting, so it is on while Spark registers only.
   */
  void connect(String master, int executors) {
    masters[0] = master;
    context.conf().set(DYNAMIC, "true");
    try {
      super.start();
    } finally {
      context.conf().set(DYNAMIC, "false");
    }
    request(executors);
  }

  /** From now on the master gives so many executors, and replaces those that are lost. */
  void request(int executors) {
    Object profile = ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID();
    requestTotalExecutors(
        scala(Map.of(profile, executors)), scala(Map.of()), scala(Map.of()));
  }

  void release(List<String> executors) {
    killExecutors(CollectionConverters.asScala(executors).toSeq(), false, false, true);
  }

  private static <K, V> scala.collection.immutable.Map<K, V> scala(Map<K, V> map) {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(map));
  }
}
