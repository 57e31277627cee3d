package org.slotwise.source;

import java.io.Serializable;

/**
 * Ids still to be read: {@code next}, {@code next + stride}, … below {@code end}.
 *
 * <p>{@code due} is when {@code next} is due, in records of the schedule: its id for even arrivals;
 * for Poisson arrivals a sum of exponential gaps of mean {@code stride}, each a function of seed and
 * id, so that many spans together are one Poisson process.
 */
record Span(long next, long stride, long end, double due) implements Serializable {

  boolean isEmpty() {
    return next >= end;
  }

  Span afterNext(Arrivals arrivals) {
    return new Span(next + stride, stride, end, due + arrivals.gap(next + stride, stride));
  }

  /** Without the ids that are due by {@code records}. O(1) for even arrivals, else their number. */
  Span after(double records, Arrivals arrivals) {
    long count = 0;
    double reached = due;
    if (arrivals.isPoisson()) {
      while (reached <= records && count < left()) {
        count++;
        reached += arrivals.gap(next + count * stride, stride);
      }
    } else if (due <= records) {
      count = Math.min((long) ((records - due) / stride) + 1, left());
      reached += (double) count * stride;
    }
    return new Span(next + count * stride, stride, end, reached);
  }

  private long left() {
    return isEmpty() ? 0 : (end - next - 1) / stride + 1;
  }
}
