package org.slotwise.work;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;

/** What synthetic operators do with a record. Spark calls these from generated code. */
public final class Work {
  private static final long MEGABYTE = 1 << 20;
  private static final long MOST_CREDIT_NANOS = 1_000_000;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final Map<Long, Deque<byte[]>> HELD = new ConcurrentHashMap<>();

  /** How much longer than asked the waits of a thread were so far. */
  private static final ThreadLocal<long[]> OVERSLEPT = ThreadLocal.withInitial(() -> new long[1]);

  private static volatile double sink;

  private Work() {}

  /** Uses n µs of CPU time, however long that takes where the CPU is shared. */
  public static long burnMicros(long micros) {
    long end = THREADS.getCurrentThreadCpuTime() + micros * 1000;
    double value = micros;
    do {
      for (int i = 0; i < 100; i++) {
        value = Math.sqrt(value + i);
      }
    } while (THREADS.getCurrentThreadCpuTime() < end);
    sink = value;
    return micros;
  }

  /**
   * Parks the thread for n µs. A system wakes threads about 50 µs late; that much is taken off the
   * thread's next waits, so that they are right on average.
   */
  public static long waitMicros(long micros) {
    long[] overslept = OVERSLEPT.get();
    long end = System.nanoTime() + micros * 1000 - overslept[0];
    long left;
    while ((left = end - System.nanoTime()) > 0 && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(left);
    }
    overslept[0] = Math.max(0, Math.min(-left, MOST_CREDIT_NANOS));
    return micros;
  }

  /** Parks the thread for n µs, one thread of the process at a time: work behind a lock. */
  public static synchronized long lockMicros(long micros) {
    return waitMicros(micros);
  }

  /** The task of this thread holds n MB of heap from now until it ends. */
  public static long holdMegabytes(long megabytes) {
    TaskContext task = TaskContext.get();
    Deque<byte[]> held = HELD.get(task.taskAttemptId());
    if (held == null) {
      held = new ArrayDeque<>();
      HELD.put(task.taskAttemptId(), held);
      task.<Void>addTaskCompletionListener(
          (org.apache.spark.util.TaskCompletionListener)
              ended -> HELD.remove(ended.taskAttemptId()));
    }
    while (held.size() < megabytes) {
      held.addLast(new byte[(int) MEGABYTE]);
    }
    while (held.size() > megabytes) {
      held.removeLast();
    }
    return megabytes;
  }

  /** The body of the response to a GET; fails unless that is a success, and in time. */
  public static UTF8String callUrl(UTF8String url, long timeoutMillis) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url.toString()))
            .timeout(Duration.ofMillis(timeoutMillis))
            .build();
    try {
      HttpResponse<byte[]> answer =
          Client.SHARED.send(request, HttpResponse.BodyHandlers.ofByteArray());
      if (answer.statusCode() / 100 != 2) {
        throw new IllegalStateException(url + " returned status " + answer.statusCode());
      }
      return UTF8String.fromBytes(answer.body());
    } catch (IOException failed) {
      throw new IllegalStateException("cannot reach " + url + ": " + failed, failed);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while calling " + url, stopped);
    }
  }

  /** Made by the first call, so that executors without calls have none of its threads. */
  private static final class Client {
    static final HttpClient SHARED = HttpClient.newHttpClient();
  }
}
