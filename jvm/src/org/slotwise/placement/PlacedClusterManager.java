package org.slotwise.placement;

import java.util.ServiceLoader;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/**
 * Takes masters whose URL starts with {@code spark-placed:} and gives them a {@link
 * PlacedScheduler} on the backend that Spark would use for the rest of the URL.
 *
 * <ul>
 *   <li>{@code spark-placed:standalone}: the standalone master that {@link PlacedScheduler#connect}
 *       names once the driver runs.
 *   <li>{@code spark-placed:yarn}: YARN as Hadoop's settings have it, with the driver in this process.
 *   <li>{@code spark-placed:k8s://https://host:port}: the backend of Spark's own manager for that URL.
 *       Tried with Spark's own executors against a stand-in of Kubernetes' API.
 * </ul>
 */
public final class PlacedClusterManager implements ExternalClusterManager {
  static final String PREFIX = "spark-placed:";
  static final String STANDALONE = "standalone";
  static final String YARN = "yarn";
  static final String KUBERNETES = "k8s";

  @Override
  public boolean canCreate(String master) {
    return master.startsWith(PREFIX);
  }

  @Override
  public TaskScheduler createTaskScheduler(SparkContext context, String master) {
    if (!master.startsWith(PREFIX + KUBERNETES)) {
      return new PlacedScheduler(context);
    }
    KubernetesNodes nodes = new KubernetesNodes();
    context.addSparkListener(nodes);
    return new PlacedScheduler(context, nodes);
  }

  @Override
  public SchedulerBackend createSchedulerBackend(
      SparkContext context, String master, TaskScheduler scheduler) {
    String rest = master.substring(PREFIX.length());
    return switch (rest) {
      case STANDALONE -> new PlacedBackend((TaskSchedulerImpl) scheduler, context);
      case YARN -> new PlacedYarnBackend((TaskSchedulerImpl) scheduler, context);
      default -> managerOf(rest).createSchedulerBackend(context, rest, scheduler);
    };
  }

  @Override
  public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
    ((TaskSchedulerImpl) scheduler).initialize(backend);
  }

  /** Spark's own manager for a master URL. */
  static ExternalClusterManager managerOf(String master) {
    for (ExternalClusterManager manager : ServiceLoader.load(ExternalClusterManager.class)) {
      if (manager.canCreate(master)) {
        return manager;
      }
    }
    throw new IllegalArgumentException("unknown master '" + master + "': no cluster manager of Spark takes it");
  }
}
