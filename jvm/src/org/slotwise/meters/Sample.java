package org.slotwise.meters;

import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** How often each number came: of threads that tuples were sent to, or of buckets of latencies. */
final class Sample {
  private volatile AtomicLongArray counts = new AtomicLongArray(0);

  /** Numbers of threads. Negative ones stand for nobody, and are not counted. */
  void add(ArrayData threads, int times) {
    for (int i = 0; i < threads.numElements(); i++) {
      if (threads.getInt(i) >= 0) {
        count(threads.getInt(i), times);
      }
    }
  }

  /**
   * Threads as routes name them: structs of so many {@code fields}, of which the first two are an
   * operator and which of its threads. Thread 0 of operator i has the number {@code first[i]}.
   */
  void add(ArrayData routes, int fields, int[] first, int times) {
    for (int i = 0; i < routes.numElements(); i++) {
      InternalRow route = routes.getStruct(i, fields);
      count(first[route.getInt(0)] + route.getInt(1), times);
    }
  }

  void count(int number, int times) {
    AtomicLongArray room = number < counts.length() ? counts : grown(number + 1);
    room.lazySet(number, room.get(number) + times);
  }

  private AtomicLongArray grown(int size) {
    AtomicLongArray larger = new AtomicLongArray(Math.max(size, 2 * counts.length()));
    for (int i = 0; i < counts.length(); i++) {
      larger.set(i, counts.get(i));
    }
    counts = larger;
    return larger;
  }

  long[] counts() {
    AtomicLongArray now = counts;
    long[] copied = new long[now.length()];
    for (int i = 0; i < copied.length; i++) {
      copied[i] = now.get(i);
    }
    return copied;
  }
}
