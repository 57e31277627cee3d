package org.slotwise.work;

final class PiTest {
  private PiTest() {}

  static void digitsAreThoseOfPi() {
    assert Pi.digits(2).toString().equals("3.14");
    String fifty = "3.14159265358979323846264338327950288419716939937510";
    assert Pi.digits(50).toString().equals(fifty);
  }

  static void longerIsOnlyLonger() {
    String hundred = Pi.digits(100).toString();
    for (int n : new int[] {1, 17, 64, 99}) {
      assert hundred.startsWith(Pi.digits(n).toString());
    }
  }

  static void otherCountsAreRefused() {
    for (long n : new long[] {-1, 0, 10_001}) {
      try {
        Pi.digits(n);
      } catch (IllegalArgumentException refused) {
        continue;
      }
      throw new AssertionError("accepted " + n);
    }
  }
}
