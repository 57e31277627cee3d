package org.slotwise.placement;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SecurityManager$;
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
      shareSecret();
      connect(master, 0);
    }
  }

  /** Executors on YARN get the secret with the application; Spark does so for its own master only. */
  private void shareSecret() {
    byte[] secret =
        context.conf().get("spark.authenticate.secret").getBytes(StandardCharsets.UTF_8);
    Credentials credentials = new Credentials();
    credentials.addSecretKey(SecurityManager$.MODULE$.SECRET_LOOKUP_KEY(), secret);
    try {
      UserGroupInformation.getCurrentUser().addCredentials(credentials);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
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
