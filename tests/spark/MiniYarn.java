import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;

/**
 * A resource manager and a node manager per given address, in this process, which ends with its
 * standard input. Hadoop's own mini cluster has all nodes at one address; Spark sees hosts only.
 *
 * <p>Settings are those of yarn-site.xml on the class path.
 */
public final class MiniYarn {
  private MiniYarn() {}

  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    DefaultMetricsSystem.setMiniClusterMode(true); // several nodes in one process
    ResourceManager manager = new ResourceManager();
    manager.init(new YarnConfiguration());
    manager.start();
    for (int node = 1; node < arguments.length; node++) {
      start(folder, arguments[node]);
    }
    while (manager.getResourceScheduler().getNumClusterNodes() < arguments.length - 1) {
      Thread.sleep(50);
    }
    System.out.println("ready");
    awaitEndOfInput();
    Runtime.getRuntime().halt(0);
  }

  private static void start(Path folder, String host) throws IOException {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("yarn.nodemanager.hostname", host);
    conf.set("yarn.nodemanager.bind-host", host);
    for (String service : new String[] {"address", "localizer.address", "webapp.address"}) {
      conf.set("yarn.nodemanager." + service, host + ":0");
    }
    conf.set("yarn.nodemanager.local-dirs", made(folder.resolve(host + "-local")));
    conf.set("yarn.nodemanager.log-dirs", made(folder.resolve(host + "-logs")));
    NodeManager node = new NodeManager();
    node.init(conf);
    node.start();
  }

  private static String made(Path folder) throws IOException {
    return Files.createDirectories(folder).toString();
  }

  private static void awaitEndOfInput() throws IOException {
    while (System.in.read() >= 0) {
      // What is written means nothing.
    }
  }
}
