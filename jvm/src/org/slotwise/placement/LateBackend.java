package org.slotwise.placement;

/**
 * A backend that is connected to its cluster by {@link #connect}, not while the driver starts.
 *
 * <p>So the driver can analyse a query first, and no cluster has to start for one that Spark refuses.
 */
interface LateBackend {

  /** Asks the cluster for so many executors; waits until it has taken the request. */
  void connect(String master, int executors);
}
