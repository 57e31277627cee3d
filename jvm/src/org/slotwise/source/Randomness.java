package org.slotwise.source;

/** Random numbers that are functions of a number, so that reading again gives the same. */
final class Randomness {
  private Randomness() {}

  /** Steele, Lea and Flood's splitmix64. */
  static long mix(long number) {
    long z = number + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** In (0, 1]. */
  static double uniform(long number) {
    return ((mix(number) >>> 11) + 1) * 0x1.0p-53;
  }

  /** Exponentially distributed with mean 1. */
  static double exponential(long number) {
    return -Math.log(uniform(number));
  }
}
