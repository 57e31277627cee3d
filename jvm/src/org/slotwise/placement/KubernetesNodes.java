package org.slotwise.placement;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;

/**
 * The nodes of executors on Kubernetes, where Spark takes a pod's own address for its host.
 *
 * <p>An executor tells its node as an attribute, which its pod has from {@code executor-pod.yaml}. One
 * that tells none stands for a node of its own.
 */
final class KubernetesNodes extends SparkListener {
  static final String ATTRIBUTE = "NODE";

  private final Map<String, String> nodes = new ConcurrentHashMap<>();

  /** The node of an executor; null as long as Spark has not announced it. */
  String of(String executor) {
    return nodes.get(executor);
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded added) {
    String host = added.executorInfo().executorHost();
    nodes.put(
        added.executorId(),
        added.executorInfo().attributes().getOrElse(ATTRIBUTE, () -> host));
  }
}
