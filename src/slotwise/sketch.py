"""Quantiles and means of durations in bounded memory: the one histogram of simulator and meters.

A bucket is the exponent of a number and the first 7 bits behind its leading one, both read off its
64-bit float: 128 buckets per doubling, so the middle of a bucket is within 0.4 % of everything in
it. The simulator's kernel (`simulation.kernels.measure`) and the meters in Spark's executors
(`Sketch.java`) compute the same numbers from the same constants; counts add up bucket by bucket.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SHORTEST_S = 2.0**-24
"""Durations up to this (0.06 µs), also negative ones, are in bucket 0."""
LONGEST_S = 2.0**16
"""Durations from this on (18 hours) are in the last bucket."""
SHIFT = 45
"""Bits of a float that do not matter: the last 45 of its 52 bits behind the leading one."""
LOWEST = int(np.float64(SHORTEST_S).view(np.int64)) >> SHIFT
BUCKETS = (int(np.float64(LONGEST_S).view(np.int64)) >> SHIFT) - LOWEST + 1


def bucket(seconds: float) -> int:
    """The bucket that counts a duration.

    >>> bucket(-1.0), bucket(0.001), bucket(0.002), bucket(1e9) == BUCKETS - 1
    (0, 1795, 1923, True)
    """
    if seconds <= SHORTEST_S:
        return 0
    return min((int(np.float64(seconds).view(np.int64)) >> SHIFT) - LOWEST, BUCKETS - 1)


def edges_s(buckets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The shortest duration that each bucket counts."""
    return (buckets + LOWEST << SHIFT).view(np.float64)


def middle_s(bucket: int) -> float:
    """The duration that a bucket stands for.

    >>> round(middle_s(bucket(0.25)), 6)
    0.250977
    """
    return float(edges_s(np.arange(bucket, bucket + 2)).mean())


def quantile_s(counts: NDArray[np.int64], q: float, largest_s: float | None = None) -> float | None:
    """The duration that a part `q` of all counted ones do not exceed; None if there are none.

    `largest_s` is the longest one, if that is known: no answer is longer.
    """
    total = int(counts.sum())
    if not total:
        return None
    found = int(np.searchsorted(np.cumsum(counts), max(1, math.ceil(q * total))))
    if largest_s is None:
        return middle_s(found)
    return largest_s if found == BUCKETS - 1 else min(middle_s(found), largest_s)


def mean_s(counts: NDArray[np.int64]) -> float | None:
    """The mean of all counted durations, within 0.4 %; None if there are none."""
    used = np.flatnonzero(counts)
    if not len(used):
        return None
    middles = (edges_s(used) + edges_s(used + 1)) / 2
    return float(middles @ counts[used] / counts[used].sum())
