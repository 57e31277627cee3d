package org.slotwise.meters;

import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.spark.sql.catalyst.util.ArrayData;

/** How often each number came: partitions that were a target, or buckets of latencies. */
final class Sample {
  private volatile AtomicLongArray counts = new AtomicLongArray(0);

  /**
   * Numbers, or structs of so many fields, the last of which is the number. Negative ones stand for
   * nobody, and are not counted.
   */
  void add(ArrayData targets, int fields) {
    for (int i = 0; i < targets.numElements(); i++) {
      int target =
          fields == 0 ? targets.getInt(i) : targets.getStruct(i, fields).getInt(fields - 1);
      if (target >= 0) {
        count(target, 1);
      }
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
