package org.slotwise;

import java.io.IOException;

/**
 * Runs another class's main, and ends this process as soon as its standard input closes.
 *
 * <p>The parent holds the other end of the pipe, so a master or worker never outlives it, however
 * the parent ended: shutdown hooks run, and a worker's hooks end its executors.
 */
public final class Daemon {
  private Daemon() {}

  public static void main(String[] arguments) throws Exception {
    Thread watch = new Thread(Daemon::exitAtEndOfInput, "parent-watch");
    watch.setDaemon(true);
    watch.start();
    String[] rest = java.util.Arrays.copyOfRange(arguments, 1, arguments.length);
    Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
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
