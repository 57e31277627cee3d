"""Items into bins, pair by pair by falling traffic: both phases of paper 2's online scheduler."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.placers._filling import (
    MOST_OPTIONS,
    Filling,
    best_options,
    empty,
    join,
    least_loaded,
    list_options,
    move,
    put_rest,
)
from slotwise.placers._pairs import Pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Links = NDArray[np.int32]
NO_OPTION = MOST_OPTIONS


def assign(pairs: Pairs, loads: Floats, room: Ints, capacity: Floats) -> Ints:
    """Each item's bin, -1 where none had the capacity left: rules 1 and 2 of TrafficBased.

    `room` is how many items a bin takes and `capacity` how much load; infinite means that the
    least load, not the least share of capacity, makes a bin the least loaded.
    O(pairs · (neighbours of an item + log bins) + items · log items).
    """
    filling = empty(loads, room, capacity)
    one, other = pairs.by_falling_rate()
    _assign(one, other, pairs.first, pairs.neighbours, pairs.rates, filling)
    put_rest(filling, np.argsort(-loads, kind="stable"))
    return filling.bins


@njit(cache=True)
def _assign(
    one: Links, other: Links, first: Links, neighbours: Links, rates: Floats, filling: Filling
) -> None:
    bins, loads, room, capacity = filling.bins, filling.loads, filling.room, filling.capacity
    held, load, key, winners = filling.held, filling.load, filling.key, filling.winners
    options = np.empty(MOST_OPTIONS, np.int64)
    local = np.empty((2, MOST_OPTIONS))
    of_j, of_k = local[0], local[1]
    # One more, last, for items in no bin: they are in bin -1.
    option_of = np.full(len(room) + 1, NO_OPTION, np.int8)
    for pair in range(len(one)):
        j, k = one[pair], other[pair]
        if bins[j] < 0 and bins[k] < 0:
            join(filling, j, k)
            continue
        size = list_options(bins[j], bins[k], least_loaded(key, winners), options)
        for n in range(size):
            option_of[options[n]] = n
        between = _local_rates(j, k, first, neighbours, rates, bins, option_of, of_j)
        _local_rates(k, j, first, neighbours, rates, bins, option_of, of_k)
        for n in range(size):
            option_of[options[n]] = NO_OPTION
        to_j, to_k = best_options(
            *(j, k, between, options, size, local, bins, loads, room, capacity, held, load)
        )
        if to_j != bins[j] or to_k != bins[k]:
            move(filling, j, to_j)
            move(filling, k, to_k)


@njit(cache=True)
def _local_rates(
    item: int,
    partner: int,
    first: Links,
    neighbours: Links,
    rates: Floats,
    bins: Ints,
    option_of: NDArray[np.int8],
    local: Floats,
) -> float:
    """Tuples/s of the item with each option, its partner left out; those with the partner.

    `option_of` says which option a bin is.
    """
    local[:] = 0.0
    between = 0.0
    for link in range(first[item], first[item + 1]):
        option = option_of[bins[neighbours[link]]]
        if neighbours[link] == partner:
            between = rates[link]
        elif option < NO_OPTION:
            local[option] += rates[link]
    return between
