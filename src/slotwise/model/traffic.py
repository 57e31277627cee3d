"""How many tuples/s flow along streams and between threads."""

from __future__ import annotations

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


@dataclass(frozen=True)
class Traffic:
    """Tuples/s delivered on each stream, and between threads where that was measured."""

    streams: NDArray[np.float64]
    """Per stream of the topology, all copies of `all` grouping counted."""
    measured: ThreadTraffic | None = None

    def between_threads(self, topology: Topology, allocation: Allocation) -> ThreadTraffic:
        """The measured traffic, or else each stream divided evenly over its pairs of threads.

        `global` grouping has one receiver, thread 0 of the target.
        Time and memory: the number of pairs.
        """
        return self.measured or _divided_evenly(topology, allocation, self.streams)


def _divided_evenly(
    topology: Topology, allocation: Allocation, stream_rates: NDArray[np.float64]
) -> ThreadTraffic:
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
    return ThreadTraffic(np.concatenate(senders), np.concatenate(receivers), np.concatenate(rates))
