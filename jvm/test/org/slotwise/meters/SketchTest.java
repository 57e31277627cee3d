package org.slotwise.meters;

import java.util.Arrays;

final class SketchTest {
  /** Seconds and the bucket that counts them; tests/test_sketch.py reads these lines too. */
  private static final String VECTORS =
      """
      -1.0 0
      0.0 0
      5.9604644775390625e-08 0
      6.1e-08 2
      0.000001 518
      0.000063 1284
      0.001 1795
      0.0010078125 1796
      0.002 1923
      0.0999 2636
      1.0 3072
      1.0078124 3072
      1.0078125 3073
      4.6 3347
      3600.0 4577
      65535.9 5119
      65536.0 5120
      1e9 5120
      """;

  private SketchTest() {}

  static void bucketsAreThoseOfPython() {
    for (String line : VECTORS.split("\n")) {
      String[] pair = line.split(" ");
      int found = Sketch.bucket(Double.parseDouble(pair[0]));
      assert found == Integer.parseInt(pair[1]) : line + ", not " + found;
    }
  }

  static void aHistogramKeepsWhatIsBetweenItsEmptyEnds() {
    Histogram kept = Histogram.of(10, new long[] {0, 3, 0, 4, 0});
    assert kept.first() == 11 && Arrays.equals(kept.counts(), new long[] {3, 0, 4});
    assert Histogram.of(0, new long[9]) == Histogram.EMPTY;
  }

  static void histogramsAddUpBucketByBucket() {
    Histogram low = new Histogram(5, new long[] {1, 2});
    Histogram high = new Histogram(8, new long[] {7});
    for (Histogram sum : new Histogram[] {low.plus(high), high.plus(low)}) {
      assert sum.first() == 5 && Arrays.equals(sum.counts(), new long[] {1, 2, 0, 7});
      assert same(sum.minus(low), high) && same(sum.minus(high), low);
      assert sum.minus(sum) == Histogram.EMPTY;
    }
    assert same(Histogram.EMPTY.plus(high), high) && same(high.plus(Histogram.EMPTY), high);
  }

  private static boolean same(Histogram one, Histogram other) {
    return one.first() == other.first() && Arrays.equals(one.counts(), other.counts());
  }
}
