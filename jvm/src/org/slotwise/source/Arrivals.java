package org.slotwise.source;

import java.io.Serializable;

/** Even gaps between records, or those of a Poisson process with a seed. */
record Arrivals(boolean isPoisson, long seed) implements Serializable {

  static Arrivals parse(String text, long seed) {
    return switch (text) {
      case "constant" -> new Arrivals(false, seed);
      case "poisson" -> new Arrivals(true, seed);
      default -> throw new IllegalArgumentException(
          "invalid arrivals '" + text + "': expected constant or poisson");
    };
  }

  /** Records of the schedule between a span's id and the one before it. */
  double gap(long id, long stride) {
    return isPoisson
        ? stride * Randomness.exponential(Randomness.mix(seed) ^ id)
        : stride;
  }
}
