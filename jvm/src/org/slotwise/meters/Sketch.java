package org.slotwise.meters;

/**
 * Buckets of durations: 128 per doubling, the same as in {@code slotwise/sketch.py}, which says what
 * they are and reads what is counted here.
 */
final class Sketch {
  private static final double SHORTEST_SECONDS = 0x1p-24;
  private static final int SHIFT = 45;
  private static final int LOWEST = exponent(SHORTEST_SECONDS);
  private static final int LAST = exponent(0x1p16) - LOWEST;

  private Sketch() {}

  /** The bucket that counts a duration. */
  static int bucket(double seconds) {
    return seconds <= SHORTEST_SECONDS ? 0 : Math.min(exponent(seconds) - LOWEST, LAST);
  }

  /** With the first 7 bits behind the leading one. */
  private static int exponent(double number) {
    return (int) (Double.doubleToRawLongBits(number) >> SHIFT);
  }
}
