package org.slotwise.meters;

import java.io.Serializable;
import java.util.Arrays;

/**
 * Counts per bucket, from bucket {@code first} to the last one that is not empty: of thousands of
 * buckets, latencies fill a few hundred that lie together, and only these are sent.
 */
public record Histogram(int first, long[] counts) implements Serializable {
  static final Histogram EMPTY = new Histogram(0, new long[0]);

  /** Without the empty buckets at both ends. */
  static Histogram of(int first, long[] counts) {
    int from = 0;
    int to = counts.length;
    while (from < to && counts[from] == 0) {
      from++;
    }
    while (to > from && counts[to - 1] == 0) {
      to--;
    }
    return from == to ? EMPTY : new Histogram(first + from, Arrays.copyOfRange(counts, from, to));
  }

  Histogram plus(Histogram more) {
    return with(more, 1);
  }

  Histogram minus(Histogram before) {
    return with(before, -1);
  }

  private Histogram with(Histogram other, int sign) {
    if (other.counts.length == 0) {
      return this;
    }
    int start = counts.length == 0 ? other.first : Math.min(first, other.first);
    int end = Math.max(first + counts.length, other.first + other.counts.length);
    long[] sums = new long[end - start];
    addTo(sums, start, 1);
    other.addTo(sums, start, sign);
    return of(start, sums);
  }

  private void addTo(long[] sums, int start, int sign) {
    for (int i = 0; i < counts.length; i++) {
      sums[first - start + i] += sign * counts[i];
    }
  }
}
