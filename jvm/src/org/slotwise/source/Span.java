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
}
