package org.slotwise.work;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import org.apache.spark.unsafe.types.UTF8String;

/** π by Viète's formula: 2/π is the product of √2/2, √(2 + √2)/2, √(2 + √(2 + √2))/2, … */
public final class Pi {
  private static final BigDecimal TWO = BigDecimal.valueOf(2);
  private static final int GUARD_DIGITS = 10;

  /** Each factor makes the error four times smaller. */
  private static final double FACTORS_PER_DIGIT = Math.log(10) / Math.log(4);

  private Pi() {}

  /** The first n digits after the point, cut off; computed anew by every call. */
  public static UTF8String digits(long n) {
    if (n < 1 || n > 10_000) {
      throw new IllegalArgumentException("pi_digits takes 1 to 10000 digits, not " + n);
    }
    MathContext precision = new MathContext((int) n + GUARD_DIGITS, RoundingMode.HALF_EVEN);
    long factors = (long) Math.ceil((n + GUARD_DIGITS / 2) * FACTORS_PER_DIGIT);
    BigDecimal root = BigDecimal.ZERO;
    BigDecimal pi = TWO;
    for (long i = 0; i < factors; i++) {
      root = TWO.add(root).sqrt(precision);
      pi = pi.multiply(TWO, precision).divide(root, precision);
    }
    return UTF8String.fromString(pi.setScale((int) n, RoundingMode.DOWN).toPlainString());
  }
}
