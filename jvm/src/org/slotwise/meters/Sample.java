package org.slotwise.meters;

import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** How often each number came: partitions that were a target, or buckets of latencies. */
final class Sample {
  private volatile AtomicLongArray counts = new AtomicLongArray(0);

  /** Negative targets stand for nobody, and are not counted. */
  void add(ArrayData targets) {
    for (int i = 0; i < targets.numElements(); i++) {
      int target = targets.getInt(i);
      if (target >= 0) {
        count(target);
      }
    }
  }

  void count(int number) {
    AtomicLongArray room = number < counts.length() ? counts : grown(number + 1);
    room.lazySet(number, room.get(number) + 1);
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
