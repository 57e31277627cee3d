"""Traffic derived from streams: blocks of threads that are alike, in place of pairs of threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Allocation, Topology

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BlockRates(NamedTuple):
    """Tuples/s between one thread of a block and another one of a block, both directions added.

    The blocks that exchange with block b are `neighbours[first[b]:first[b + 1]]`, ascending.
    """

    first: Ints
    neighbours: Ints
    rates: Floats


class Blocks(NamedTuple):
    """Tuples/s between things that consist of threads: threads themselves, or workers.

    A block is a range of threads that all exchange the same with any one thread elsewhere: an
    operator, or thread 0 of an operator that gets a `global` stream, and the other threads of that.
    So there are about as many blocks as operators, and as many pairs of blocks as streams, however
    many threads there are.
    """

    first: Ints
    """Thing n consists of threads of the blocks `block[first[n]:first[n + 1]]`, ascending."""
    block: Ints
    threads: Ints
    """How many threads of each of these blocks."""
    rates: BlockRates

    @classmethod
    def of(cls, topology: Topology, allocation: Allocation, stream_rates: Floats) -> Blocks:
        """Between threads, each stream's tuples/s divided evenly over its pairs of threads, as by
        `ThreadTraffic.divided_evenly`. O(threads + streams · log streams).
        """
        first_block, thread_block = _blocks(topology, allocation)
        return cls(
            np.arange(allocation.total_threads + 1),
            thread_block,
            np.ones_like(thread_block),
            _block_rates(topology, allocation, stream_rates, first_block),
        )

    def between(self, place: Ints, places: int) -> Blocks:
        """The same traffic between places, where thing n is at place[n]. O(things · log things)."""
        blocks = len(self.rates.first) - 1
        where = np.repeat(place, np.diff(self.first))
        keys, at = np.unique(where * blocks + self.block, return_inverse=True)
        threads = np.bincount(at, self.threads, len(keys)).astype(np.int64)
        first = np.searchsorted(keys, np.arange(places + 1) * blocks)
        return Blocks(first, keys % blocks, threads, self.rates)

    def local_rates(self, place: Ints) -> Floats:
        """Per thread, tuples/s that it exchanges with others at its place; of threads only.

        O(threads · (log threads + neighbours of a block)).
        """
        places = int(place.max()) + 1
        there = self.between(place, places)
        by_place = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[by_place], np.arange(places), side="right")
        local = np.empty(len(place))
        local[by_place] = _local_rates(
            self.block[by_place], ends, there.first, there.block, there.threads, self.rates
        )
        return local

    def rates_with(self, thread: int, others: Ints) -> Floats:
        """Tuples/s between a thread and each of the others; of threads only."""
        row = np.zeros(len(self.rates.first) - 1)
        block = self.block[thread]
        links = slice(self.rates.first[block], self.rates.first[block + 1])
        row[self.rates.neighbours[links]] = self.rates.rates[links]
        return np.asarray(row[self.block[others]])

    def leaving(self, place: Ints) -> float:
        """Tuples/s that leave their place; of threads only. O(threads · log threads)."""
        there = self.between(place, int(place.max()) + 1)
        local = _local_pairs(there.first, there.block, there.threads, self.rates)
        size = np.bincount(self.block, minlength=len(self.rates.first) - 1)
        one = np.repeat(np.arange(len(size)), np.diff(self.rates.first))
        # Counted in whole pairs, so that nothing leaving is exactly 0; each pair is there twice.
        apart = size[one] * size[self.rates.neighbours] - local
        return float(self.rates.rates @ apart) / 2


def _blocks(topology: Topology, allocation: Allocation) -> tuple[Ints, Ints]:
    """Per operator its first block, with one more entry at the end, and per thread its block."""
    apart = np.zeros(len(topology.operators), dtype=np.bool_)
    for stream, (_, target) in zip(topology.streams, topology.edges, strict=True):
        apart[target] |= stream.grouping.kind == "global"
    apart &= allocation.threads > 1
    first_block = np.concatenate(([0], np.cumsum(1 + apart)))
    thread_block = first_block[allocation.thread_operator]
    others = np.delete(np.arange(allocation.total_threads), allocation.first_thread[:-1])
    thread_block[others] += apart[allocation.thread_operator[others]]
    return first_block, thread_block


def _block_rates(
    topology: Topology, allocation: Allocation, stream_rates: Floats, first_block: Ints
) -> BlockRates:
    from scipy.sparse import coo_array

    senders, receivers, rates = [], [], []
    for stream, (source, target), rate in zip(
        topology.streams, topology.edges, stream_rates, strict=True
    ):
        to_one = stream.grouping.kind == "global"
        pairs = allocation.threads[source] * (1 if to_one else allocation.threads[target])
        last = first_block[target] + 1 if to_one else first_block[target + 1]
        for sender in range(first_block[source], first_block[source + 1]):
            for receiver in range(first_block[target], last):
                senders.append(sender)
                receivers.append(receiver)
                rates.append(rate / pairs)
    size = int(first_block[-1])
    ends = np.array(senders, dtype=np.int64), np.array(receivers, dtype=np.int64)
    directed = coo_array((np.array(rates, dtype=np.float64), ends), shape=(size, size)).tocsr()
    both = directed + directed.T
    both.eliminate_zeros()
    both.sort_indices()
    return BlockRates(both.indptr.astype(np.int64), both.indices.astype(np.int64), both.data)


@njit(cache=True)
def _local_rates(
    thread_block: Ints, ends: Ints, first: Ints, block: Ints, threads: Ints, rates: BlockRates
) -> Floats:
    """Per thread, tuples/s with others at its place; the threads of place p end at ends[p]."""
    count = np.zeros(len(rates.first) - 1, np.int64)
    local = np.zeros(len(thread_block))
    thread = 0
    for place in range(len(ends)):
        here = slice(first[place], first[place + 1])
        count[block[here]] = threads[here]
        while thread < ends[place]:
            own = thread_block[thread]
            for link in range(rates.first[own], rates.first[own + 1]):
                other = rates.neighbours[link]
                local[thread] += rates.rates[link] * (count[other] - (other == own))
            thread += 1
        count[block[here]] = 0
    return local


@njit(cache=True)
def _local_pairs(first: Ints, block: Ints, threads: Ints, rates: BlockRates) -> Ints:
    """Per entry of the rates, how many of its pairs of threads are at the same place."""
    count = np.zeros(len(rates.first) - 1, np.int64)
    local = np.zeros(len(rates.neighbours), np.int64)
    for place in range(len(first) - 1):
        here = slice(first[place], first[place + 1])
        count[block[here]] = threads[here]
        for own in block[here]:
            for link in range(rates.first[own], rates.first[own + 1]):
                local[link] += count[own] * count[rates.neighbours[link]]
        count[block[here]] = 0
    return local
