"""Counts by key: a hash table for kernels, whose size depends on what is counted at a time only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NO_KEY = -1


class Counts(NamedTuple):
    """How often each key, an integer ≥ 0, is there; a key is looked for from one place on. At most
    half of the places have a key; those that are there 0 times go when more would have one.
    """

    places: Ints
    """Key and count, side by side."""
    taken: Ints
    """One number: the places that have a key."""


def no_counts(keys: int) -> Counts:
    """For up to so many keys that are there at a time."""
    size = 1 << (4 * keys).bit_length()
    return Counts(np.tile([NO_KEY, 0], (size, 1)), np.zeros(1, dtype=np.int64))


@njit(cache=True)
def find(places: Ints, key: int) -> int:
    """The place that has the key, or the free one where it belongs, whose count is 0."""
    last = len(places) - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    place = int(mixed >> np.uint64(32)) & last
    while places[place, 0] != key and places[place, 0] != NO_KEY:
        place = (place + 1) & last
    return place


@njit(cache=True)
def add(counts: Counts, key: int, number: int) -> None:
    """Let the key be there so many times more, or fewer."""
    place = find(counts.places, key)
    if counts.places[place, 0] == NO_KEY:
        if 2 * counts.taken[0] >= len(counts.places):
            _forget_zeros(counts)
            place = find(counts.places, key)
        counts.places[place, 0] = key
        counts.taken[0] += 1
    counts.places[place, 1] += number


@njit(cache=True)
def _forget_zeros(counts: Counts) -> None:
    before = counts.places.copy()
    counts.places[:, 0] = NO_KEY
    counts.places[:, 1] = 0
    counts.taken[0] = 0
    for key, count in before:
        if count != 0:
            place = find(counts.places, key)
            counts.places[place, 0], counts.places[place, 1] = key, count
            counts.taken[0] += 1
