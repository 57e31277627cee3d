package org.slotwise.placement;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.DeployMessages;
import org.apache.spark.deploy.master.Master;
import org.apache.spark.deploy.master.WorkerInfo;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcEndpointAddress;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcTimeout;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag$;

/** What a standalone master tells a driver of its workers. */
final class StandaloneMaster {
  private static final String NAME = Master.ENDPOINT_NAME();

  /** A master that requires authentication lets others wait: Spark's own limit is two minutes. */
  private static final RpcTimeout LIMIT =
      new RpcTimeout(FiniteDuration.apply(15, TimeUnit.SECONDS), "15 s, the limit for an answer");

  private StandaloneMaster() {}

  /** A living worker: what it may give to executors in all, and the address of its page. */
  record Worker(String host, int cores, int memoryMb, String page) {}

  /** Throws {@link SilentMaster} if it does not answer this driver. */
  static List<Worker> workers(String master) {
    try {
      return asked(master);
    } catch (Exception failed) {
      throw new SilentMaster(failed);
    }
  }

  /** The last cause says why. */
  static final class SilentMaster extends RuntimeException {
    SilentMaster(Exception cause) {
      super(cause);
    }
  }

  private static List<Worker> asked(String master) {
    String address = RpcEndpointAddress.apply(RpcAddress.fromSparkURL(master), NAME).toString();
    RpcEndpointRef endpoint =
        LIMIT.awaitResult(SparkEnv.get().rpcEnv().asyncSetupEndpointRefByURI(address));
    DeployMessages.MasterStateResponse state =
        LIMIT.awaitResult(
            endpoint.ask(
                DeployMessages.RequestMasterState$.MODULE$,
                LIMIT,
                ClassTag$.MODULE$.apply(DeployMessages.MasterStateResponse.class)));
    List<Worker> found = new ArrayList<>();
    for (WorkerInfo worker : state.workers()) {
      // A worker that was lost is listed until the master forgets it, without being alive; what is
      // in use of a worker the master does not send.
      found.add(
          new Worker(worker.host(), worker.cores(), worker.memory(), worker.webUiAddress()));
    }
    return found;
  }
}
