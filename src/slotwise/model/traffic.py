"""How many tuples/s flow between threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model.allocation import Allocation
from slotwise.model.topology import Topology


@dataclass(frozen=True)
class ThreadTraffic:
    """Sparse traffic between threads: senders[n] sends rates[n] tuples/s to receivers[n].

    Threads are numbered as in the Allocation.
    """

    senders: NDArray[np.int64]
    receivers: NDArray[np.int64]
    rates: NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ThreadTraffic) and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("senders", "receivers", "rates")
        )

    __hash__ = None  # type: ignore[assignment]

    def between(self, place: NDArray[np.int64]) -> ThreadTraffic:
        """The same traffic between places, where thread t is at place[t]: each pair once."""
        senders, receivers = place[self.senders], place[self.receivers]
        width = int(receivers.max(initial=0)) + 1
        pairs, at = np.unique(senders * width + receivers, return_inverse=True)
        rates = np.bincount(at, self.rates, len(pairs))
        return ThreadTraffic(pairs // width, pairs % width, np.asarray(rates, dtype=np.float64))

    @staticmethod
    def divided_evenly(
        topology: Topology, allocation: Allocation, stream_rates: NDArray[np.float64]
    ) -> ThreadTraffic:
        """Each stream's tuples/s divided evenly over its pairs of threads.

        `global` grouping has one receiver, thread 0 of the target.
        Time and memory: the number of pairs.
        """
        senders, receivers, rates = [], [], []
        first = allocation.first_thread
        for stream, (source, target), rate in zip(
            topology.streams, topology.edges, stream_rates, strict=True
        ):
            sending = np.arange(first[source], first[source + 1])
            receiving = np.arange(first[target], first[target + 1])
            if stream.grouping.kind == "global":
                receiving = receiving[:1]
            pairs = len(sending) * len(receiving)
            senders.append(np.repeat(sending, len(receiving)))
            receivers.append(np.tile(receiving, len(sending)))
            rates.append(np.full(pairs, rate / pairs))
        if not senders:
            none = np.empty(0, dtype=np.int64)
            return ThreadTraffic(none, none, np.empty(0))
        return ThreadTraffic(
            np.concatenate(senders), np.concatenate(receivers), np.concatenate(rates)
        )

    def for_threads(
        self, topology: Topology, before: Sequence[int], after: Sequence[int]
    ) -> ThreadTraffic:
        """The same traffic where operators have `after` threads each, in place of `before`.

        Operators that keep their number of threads keep each thread's part. What an operator with
        another number sent or received is divided evenly over the threads that it has now: which
        keys each of them gets is not known. `global` streams still have one receiver, thread 0.
        Time and memory: the number of pairs, before and after.
        """
        if tuple(before) == tuple(after):
            return self
        operators = _Renumbered(before, after)
        total = int(operators.first[-1])
        ends = operators.lowest(self.senders) * total + operators.lowest(self.receivers)
        keys, one, at = np.unique(ends, return_index=True, return_inverse=True)
        source, target = operators.of(self.senders[one]), operators.of(self.receivers[one])
        receiving = operators.shares(target)
        receiving[_to_one_thread(topology, source, target)] = 1
        rates = np.bincount(at.ravel(), self.rates, len(keys)).astype(np.float64)
        return _spread(keys // total, operators.shares(source), keys % total, receiving, rates)


class _Renumbered:
    """Operators whose numbers of threads change."""

    def __init__(self, before: Sequence[int], after: Sequence[int]) -> None:
        self.after = np.array(after, dtype=np.int64)
        self.changed = np.array(before) != self.after
        self.first = np.concatenate(([0], np.cumsum(self.after)))
        self._operator = np.repeat(np.arange(len(before)), before)
        self._place = np.concatenate([np.arange(threads) for threads in before])

    def of(self, threads: NDArray[np.int64]) -> NDArray[np.int64]:
        """The operators of threads, numbered as before."""
        return self._operator[threads]

    def lowest(self, threads: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first of the threads that take a thread's part, numbered as after."""
        operator = self._operator[threads]
        place = np.where(self.changed[operator], 0, self._place[threads])
        return np.asarray(self.first[operator] + place)

    def shares(self, operators: NDArray[np.int64]) -> NDArray[np.int64]:
        """Over how many threads each operator's part is divided."""
        return np.where(self.changed[operators], self.after[operators], 1)


def _to_one_thread(
    topology: Topology, source: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which pairs of operators have no stream between them but `global` ones?"""
    size = len(topology.operators)
    edges = np.array(topology.edges, dtype=np.int64).reshape(-1, 2) @ (size, 1)
    to_one = np.array([stream.grouping.kind == "global" for stream in topology.streams], bool)
    pairs = source * size + target
    return np.isin(pairs, edges[to_one]) & ~np.isin(pairs, edges[~to_one])


def _spread(
    senders: NDArray[np.int64],
    sending: NDArray[np.int64],
    receivers: NDArray[np.int64],
    receiving: NDArray[np.int64],
    rates: NDArray[np.float64],
) -> ThreadTraffic:
    """Every pair over sending × receiving pairs of consecutive threads."""
    pairs = sending * receiving
    row = np.repeat(np.arange(len(pairs)), pairs)
    inside = np.arange(len(row)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    return ThreadTraffic(
        senders[row] + inside // receiving[row],
        receivers[row] + inside % receiving[row],
        (rates / pairs)[row],
    )
