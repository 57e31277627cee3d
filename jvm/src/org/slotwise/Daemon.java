package org.slotwise;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.Socket;
import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Runs another class's main, and ends this process as soon as its standard input closes.
 *
 * <p>The parent holds the other end of the pipe, so a master or worker never outlives it, however
 * the parent ended: shutdown hooks run, and a worker's hooks end its executors.
 */
public final class Daemon {
  private static final long MASTER_SECONDS = 60;
  private static final long POLL_MILLIS = 20;

  private Daemon() {}

  public static void main(String[] arguments) throws Exception {
    Thread watch = new Thread(Daemon::exitAtEndOfInput, "parent-watch");
    watch.setDaemon(true);
    watch.start();
    String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
    Method main = Class.forName(arguments[0]).getMethod("main", String[].class);
    awaitMaster(arguments[arguments.length - 1]);
    main.invoke(null, (Object) rest);
  }

  /**
   * A worker that does not find its master at once tries again only some ten seconds later. So it is
   * started when somebody listens at {@code master}, unless that is no {@code spark://host:port}.
   */
  private static void awaitMaster(String master) throws InterruptedException {
    URI address = master.startsWith("spark://") ? URI.create(master) : null;
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(MASTER_SECONDS);
    while (address != null && System.nanoTime() < end) {
      try {
        new Socket(address.getHost(), address.getPort()).close();
        return;
      } catch (IOException notYet) {
        Thread.sleep(POLL_MILLIS);
      }
    }
  }

  private static void exitAtEndOfInput() {
    try {
      while (System.in.read() >= 0) {
        // What is written means nothing; only the end counts.
      }
    } catch (IOException broken) {
      // A broken pipe is an end, too.
    }
    System.exit(0);
  }
}
