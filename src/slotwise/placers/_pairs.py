"""Who exchanges how many tuples/s with whom, as the placers that cut traffic need it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

    def between(self, place: NDArray[np.int64], places: int) -> Pairs:
        """The same traffic between places, where thing n is at place[n]. O(pairs)."""
        # Every pair is there in both directions, so rates are halved.
        return Pairs.of(places, place[self._one], place[self.neighbours], self.rates / 2)

    def local_rates(self, place: NDArray[np.int64]) -> NDArray[np.float64]:
        """Per thing, tuples/s that it exchanges with others at its place. O(pairs)."""
        local = self.rates * (place[self._one] == place[self.neighbours])
        return np.bincount(self._one, local, len(place)).astype(np.float64)

    def rates_with(self, thing: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Tuples/s between a thing and each of the others. O(others · log neighbours)."""
        links = slice(self.first[thing], self.first[thing + 1])
        row = np.append(self.neighbours[links], -1)
        at = np.searchsorted(row[:-1], others)
        return np.where(row[at] == others, np.append(self.rates[links], 0.0)[at], 0.0)

    def leaving(self, place: NDArray[np.int64]) -> float:
        """Tuples/s that leave their place. O(pairs)."""
        return float(self.rates @ (place[self._one] != place[self.neighbours])) / 2

    @cached_property
    def _one(self) -> NDArray[np.int32]:
        """Per entry of `neighbours`, whose neighbour it is."""
        return np.repeat(np.arange(len(self.first) - 1, dtype=np.int32), np.diff(self.first))

    def by_falling_rate(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Each pair once, lower number first; of equal rates the pair of lower numbers first.

        Rates are equal here if they are `without_rounding`.
        """
        once = self._one < self.neighbours
        one, other = self._one[once], self.neighbours[once]
        order = np.argsort(-without_rounding(self.rates[once]), kind="stable")
        return one[order], other[order]


def without_rounding(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rates to 12 digits: sums in another order, or products in their place, are then equal.

    >>> without_rounding(np.array([0.1 + 0.2, 0.3])).tolist()
    [0.3000000000001819, 0.3000000000001819]
    """
    fraction, exponent = np.frexp(rates)
    return np.asarray(np.ldexp(np.round(np.ldexp(fraction, 40)), exponent - 40))
