"""Who exchanges how many tuples/s with whom, as the placers that cut traffic need it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pairs:
    """Tuples/s between things, both directions added; none with itself.

    Neighbours of n are `neighbours[first[n]:first[n+1]]`, ascending; every pair is there twice.
    """

    first: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    rates: NDArray[np.float64]

    @staticmethod
    def of(
        size: int,
        one: NDArray[np.int64],
        other: NDArray[np.int64],
        rates: NDArray[np.float64],
    ) -> Pairs:
        """From directed pairs, in any order, repeated or not. O(pairs)."""
        from scipy.sparse import coo_array

        kept = (one != other) & (rates > 0)
        if not kept.all():
            one, other, rates = one[kept], other[kept], rates[kept]
        ends = one.astype(np.int32), other.astype(np.int32)
        directed = coo_array((rates, ends), shape=(size, size)).tocsr()
        both = directed + directed.T
        both.sort_indices()
        return Pairs(both.indptr, both.indices, both.data)

    def by_falling_rate(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Each pair once, lower number first; of equal rates the pair of lower numbers first."""
        one = np.repeat(np.arange(len(self.first) - 1, dtype=np.int32), np.diff(self.first))
        once = one < self.neighbours
        one, other = one[once], self.neighbours[once]
        order = np.argsort(-self.rates[once], kind="stable")
        return one[order], other[order]
