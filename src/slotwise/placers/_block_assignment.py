"""The same as `_pair_assignment`, for traffic in blocks: no pair of threads is ever stored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.placers._blocks import Blocks
from slotwise.placers._counts import Counts, add, find, no_counts
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
from slotwise.placers._pairs import without_rounding

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def assign_blocks(things: Blocks, loads: Floats, room: Ints, capacity: Floats) -> Ints:
    """Each thing's bin, -1 where none had the capacity left: what `assign` finds for all pairs.

    Things of the same load that consist of the same are of one type: they exchange the same with
    all others. So it is pairs of types that are sorted, not pairs of things; what a thing exchanges
    with a bin is a sum over blocks; and of all pairs of a thing with those of one type in one bin,
    only the first is looked at as long as nothing moves.
    Time O(pairs + decisions · (neighbouring blocks of a thing + log bins) + things · log things),
    memory O(things + pairs of types).
    """
    filling = empty(loads, room, capacity)
    types = _types(things, loads)
    if len(types.ends):
        _assign(types, things, _scratch(types), no_counts(len(things.block)), filling)
    put_rest(filling, np.argsort(-loads, kind="stable"))
    return filling.bins


class _Types(NamedTuple):
    """Things by what they consist of and by load, and pairs of types by falling rate."""

    of_thing: Ints
    first: Ints
    """The things of type t are `members[first[t]:first[t + 1]]`, ascending."""
    members: Ints
    own_rate: Floats
    """Per type, tuples/s between two things of it."""
    one: Ints
    other: Ints
    rates: Floats
    """Tuples/s between a thing of type one[n] and another of type other[n]."""
    ends: Ints
    """Where each run of pairs of types with the same rate ends."""


def _types(things: Blocks, loads: Floats) -> _Types:
    from scipy.sparse import csr_array, triu

    of_thing = _alike(things, loads)
    members = np.argsort(of_thing, kind="stable")
    first = np.searchsorted(of_thing[members], np.arange(of_thing.max() + 2))
    blocks = len(things.rates.first) - 1
    rates = csr_array(
        (things.rates.rates, things.rates.neighbours, things.rates.first), (blocks, blocks)
    )
    threads = csr_array(
        (things.threads.astype(np.float64), things.block, things.first), (len(of_thing), blocks)
    )[members[first[:-1]]]
    exchanged = threads @ rates @ threads.T
    pairs = triu(exchanged).tocoo()
    one, other = (ends.astype(np.int64) for ends in pairs.coords)
    exists = (pairs.data > 0) & ((one != other) | (np.diff(first)[one] > 1))
    found = without_rounding(pairs.data)
    order = np.flatnonzero(exists)[np.argsort(-found[exists], kind="stable")]
    found = found[order]
    return _Types(
        of_thing,
        first,
        members,
        exchanged.diagonal(),
        one[order],
        other[order],
        found,
        np.flatnonzero(np.diff(found, append=-1.0)) + 1,
    )


def _alike(things: Blocks, loads: Floats) -> Ints:
    """Per thing, a number that it shares with those of its load that consist of the same."""
    length = np.diff(things.first)
    entry = things.block * (things.threads.max() + 1) + things.threads
    found = np.unique(loads, return_inverse=True)[1] * (length.max() + 1) + length
    for place in range(int(length.max())):
        longer = np.flatnonzero(length > place)
        keys = found[longer] * (entry.max() + 1) + entry[things.first[longer] + place]
        found[longer] = found.max() + 1 + np.unique(keys, return_inverse=True)[1]
    return np.unique(found, return_inverse=True)[1]


class _Run(NamedTuple):
    """Scratch space for the things that take part in one run of equal rates."""

    involved: Ints
    """The things, ascending."""
    partners: Ints
    """Those of type t's partners that take part, ascending: `partners[first[t]:last[t]]`."""
    first: Ints
    last: Ints


def _scratch(types: _Types) -> _Run:
    """Large enough for the largest run."""
    size = np.diff(types.first)
    of_pair = np.append(size[types.one] + size[types.other], 0)
    begin = np.concatenate(([0], types.ends[:-1]))
    largest = int(np.add.reduceat(of_pair, begin).max())
    none = np.zeros(len(size), dtype=np.int64)
    return _Run(np.empty(largest, np.int64), np.empty(largest, np.int64), none, none.copy())


# Kernels. Those that are called for every pair take plain arrays, as in `_filling`.


@njit(cache=True)
def _assign(types: _Types, things: Blocks, run: _Run, counts: Counts, filling: Filling) -> None:
    """Pairs of things by falling rate, of equal rates those of lower numbers first.

    Where a pair stayed as it was, so do all whose second thing is of the same type in the same bin,
    until something moves.
    """
    bins, loads, room, capacity = filling.bins, filling.loads, filling.room, filling.capacity
    held, load, key, winners = filling.held, filling.load, filling.key, filling.winners
    of_thing, own_rate, places = types.of_thing, types.own_rate, counts.places
    first, block, threads = things.first, things.block, things.threads
    links, neighbours, rates = things.rates.first, things.rates.neighbours, things.rates.rates
    options = np.empty(MOST_OPTIONS, np.int64)
    local = np.empty((2, MOST_OPTIONS))
    local_j, local_k = local[0], local[1]
    # One more bin, last, for things in none: they are in bin -1.
    stayed = np.full((len(room) + 1, 2), -1)
    changes, begin = 0, 0
    for end in types.ends:
        between = types.rates[begin]
        for j in run.involved[: _gather(types, begin, end, run)]:
            changes += 1
            partners = run.partners[run.first[of_thing[j]] : run.last[of_thing[j]]]
            for at in range(np.searchsorted(partners, j + 1), len(partners)):
                k = partners[at]
                bin_j, bin_k = bins[j], bins[k]
                if stayed[bin_k, 0] == changes and stayed[bin_k, 1] == of_thing[k]:
                    continue
                if bin_j < 0 and bin_k < 0:
                    join(filling, j, k)
                else:
                    size = list_options(bin_j, bin_k, least_loaded(key, winners), options)
                    _local_rates(
                        *(j, bin_j, own_rate[of_thing[j]], bin_k, between, options, size),
                        *(first, block, threads, links, neighbours, places),
                        *(rates, local_j),
                    )
                    _local_rates(
                        *(k, bin_k, own_rate[of_thing[k]], bin_j, between, options, size),
                        *(first, block, threads, links, neighbours, places),
                        *(rates, local_k),
                    )
                    to_j, to_k = best_options(
                        *(j, k, between, options, size, local),
                        *(bins, loads, room, capacity, held, load),
                    )
                    if to_j == bin_j and to_k == bin_k:
                        stayed[bin_k, 0], stayed[bin_k, 1] = changes, of_thing[k]
                        continue
                    move(filling, j, to_j)
                    move(filling, k, to_k)
                _moved(things, counts, j, bin_j, bins[j])
                _moved(things, counts, k, bin_k, bins[k])
                changes += 1
        begin = end


@njit(cache=True)
def _gather(types: _Types, begin: int, end: int, run: _Run) -> int:
    """Set the run to the pairs of types from `begin` to `end`; return how many things take part."""
    for pair in range(begin, end):
        for of_type in (types.one[pair], types.other[pair]):
            run.first[of_type], run.last[of_type] = 0, -1
    for pair in range(begin, end):
        one, other = types.one[pair], types.other[pair]
        run.first[one] += types.first[other + 1] - types.first[other]
        if one != other:
            run.first[other] += types.first[one + 1] - types.first[one]
    count, size = 0, 0
    for pair in range(begin, end):
        for of_type in (types.one[pair], types.other[pair]):
            if run.last[of_type] < 0:
                for member in types.members[types.first[of_type] : types.first[of_type + 1]]:
                    run.involved[count] = member
                    count += 1
                run.last[of_type], size = size, size + run.first[of_type]
                run.first[of_type] = run.last[of_type]
    for pair in range(begin, end):
        one, other = types.one[pair], types.other[pair]
        _append(types, other, one, run)
        if one != other:
            _append(types, one, other, run)
    for pair in range(begin, end):
        for of_type in (types.one[pair], types.other[pair]):
            run.partners[run.first[of_type] : run.last[of_type]].sort()
    run.involved[:count].sort()
    return count


@njit(cache=True)
def _append(types: _Types, partner: int, of_type: int, run: _Run) -> None:
    """Add the things of type `partner` to the partners of `of_type`."""
    for member in types.members[types.first[partner] : types.first[partner + 1]]:
        run.partners[run.last[of_type]] = member
        run.last[of_type] += 1


@njit(cache=True)
def _local_rates(
    thing: int,
    here: int,
    own_rate: float,
    there: int,
    between: float,
    options: Ints,
    size: int,
    first: Ints,
    block: Ints,
    threads: Ints,
    links: Ints,
    neighbours: Ints,
    places: Ints,
    rates: Floats,
    local: Floats,
) -> None:
    """Set the tuples/s between a thing and what else is in each option: its partner, which is
    `there`, is left out, and so is the thing itself, which is `here`.
    """
    blocks = len(links) - 1
    for n in range(size):
        pull = 0.0
        for entry in range(first[thing], first[thing + 1]):
            for link in range(links[block[entry]], links[block[entry] + 1]):
                held = places[find(places, options[n] * blocks + neighbours[link]), 1]
                pull += rates[link] * (threads[entry] * held)
        if options[n] == here:
            pull -= own_rate
        if options[n] == there:
            pull -= between
        local[n] = pull


@njit(cache=True)
def _moved(things: Blocks, counts: Counts, thing: int, before: int, after: int) -> None:
    """Count a thing's threads in the bin `after`, no longer in `before`; -1 is no bin."""
    if before == after:
        return
    blocks = len(things.rates.first) - 1
    for entry in range(things.first[thing], things.first[thing + 1]):
        block, threads = things.block[entry], things.threads[entry]
        if before >= 0:
            add(counts, before * blocks + block, -threads)
        if after >= 0:
            add(counts, after * blocks + block, threads)
