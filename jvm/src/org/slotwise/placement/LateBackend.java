package org.slotwise.placement;

import org.apache.spark.SparkConf;

/**
 * A backend that is connected to its cluster by {@link #connect}, not while the driver starts.
 *
 * <p>So the driver can analyse a query first, and no cluster has to start for one that Spark refuses.
 * With Spark's authentication it is connected while the driver starts: blocks go only to those whose
 * application has the same id, and the driver's is fixed when it has started.
 */
interface LateBackend {
  /** The master, where one is known when the driver starts. */
  String MASTER = "spark.slotwise.master";

  /** The master to connect to at once; null for none. */
  static String atOnce(SparkConf conf) {
    return conf.getBoolean("spark.authenticate", false) ? conf.get(MASTER, null) : null;
  }

  /** Asks the cluster for so many executors; waits until it has taken the request. */
  void connect(String master, int executors);
}
