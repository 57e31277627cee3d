package org.slotwise.placement;

/** As far as managers can be tried without their clusters: Spark's own ones are found. */
final class PlacedClusterManagerTest {
  private PlacedClusterManagerTest() {}

  static void onlyOurMastersAreTaken() {
    PlacedClusterManager manager = new PlacedClusterManager();
    assert manager.canCreate("spark-placed:standalone");
    assert manager.canCreate("spark-placed:k8s://https://127.0.0.1:6443");
    assert manager.canCreate("spark-placed:yarn");
    assert !manager.canCreate("spark://127.0.0.1:7077");
    assert !manager.canCreate("k8s://https://127.0.0.1:6443");
  }

  static void kubernetesAndYarnKeepTheirBackends() {
    String kubernetes = name("k8s://https://127.0.0.1:6443");
    assert kubernetes.equals("KubernetesClusterManager") : kubernetes;
    assert name("yarn").equals("YarnClusterManager");
  }

  static void anUnknownMasterIsRefused() {
    try {
      PlacedClusterManager.managerOf("mesos://127.0.0.1:5050");
    } catch (IllegalArgumentException refused) {
      assert refused.getMessage().contains("mesos://127.0.0.1:5050");
      return;
    }
    throw new AssertionError("not refused");
  }

  private static String name(String master) {
    return PlacedClusterManager.managerOf(master).getClass().getSimpleName();
  }
}
