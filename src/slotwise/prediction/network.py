"""How far tuples travel: the part of each stream that stays in a slot, a node, a rack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, NetworkDelays, Pipeline, Topology
from slotwise.prediction.groups import Floats, Groups, summed
from slotwise.rates import ArrivalRates

Complexes = NDArray[np.complex128]


@dataclass(frozen=True)
class Distances:
    """Per stream, the part of its tuples that stays within one slot, one node, one rack."""

    in_slot: Floats
    in_node: Floats
    in_rack: Floats

    @property
    def parts(self) -> Floats:
        """[stream, distance]: the part of its tuples that go within a slot, a node, a rack, or
        further.
        """
        within = np.array([self.in_slot, self.in_node, self.in_rack])
        return np.asarray(np.diff(within, axis=0, prepend=0.0, append=1.0).T)

    def mean_delay_ms(self, delays_ms: Floats) -> Floats:
        """Per stream, how long a tuple travels in the mean; see `delays_by_distance_ms`."""
        if delays_ms.ndim == 1:
            return np.asarray(self.parts @ delays_ms)
        return np.asarray((self.parts * delays_ms).sum(axis=1))

    def transforms(self, delays_ms: Floats, s: Complexes) -> Complexes:
        """[stream, s]: the Laplace transforms of how long a tuple travels, in seconds."""
        passed = np.exp(-np.multiply.outer(delays_ms / 1000, s))
        if delays_ms.ndim == 1:
            return np.asarray(self.parts @ passed)
        return np.asarray(np.einsum("sd,sdk->sk", self.parts, passed))


def delays_by_distance_ms(
    pipeline: Pipeline,
    rates: ArrivalRates,
    threads: Sequence[int],
    network: NetworkDelays | None = None,
) -> Floats:
    """How long a tuple travels within a slot, a node, a rack, and further: [distance], or [stream,
    distance] where the platform's hops take time, which depends on how fast send buffers fill.

    `network` stands in for the pipeline's own delays.
    """
    delays = network or pipeline.network
    ways = np.array([delays.slot_ms, delays.node_ms, delays.rack_ms, delays.cluster_ms])
    platform = pipeline.platform
    if not any(hop.delay_ms for hop in platform.hops):
        return ways
    in_slot, in_node, further = platform.hops
    return np.array(
        [
            ways + [platform.delay_ms(hop, rate) for hop in (in_slot, in_node, further, further)]
            for rate in _pair_rates(pipeline.topology, rates, threads)
        ]
    ).reshape(-1, 4)


def _pair_rates(topology: Topology, rates: ArrivalRates, threads: Sequence[int]) -> Iterator[float]:
    """Per stream, the tuples/s that one thread sends to another in the mean."""
    streams = zip(topology.streams, topology.edges, rates.streams.tolist(), strict=True)
    for stream, (source, target), rate in streams:
        receivers = 1 if stream.grouping.kind == "global" else threads[target]
        yield rate / (threads[source] * receivers)


def distances(topology: Topology, cluster: Cluster, groups: Groups, shares: Floats) -> Distances:
    """Sender and receiver are independent: a tuple stays in a place by the product of their parts.

    `shares` is each group's part of its operator's tuples. `local-or-shuffle` keeps a tuple in its
    slot where the target has a thread there. O(streams × (nodes + slots of an operator)).
    """
    slot_rack = cluster.node_rack[cluster.slot_node]
    found = np.empty((3, len(topology.streams)))
    parts = [_parts(groups, shares, position) for position in range(groups.operators)]
    for stream, (source, target) in enumerate(topology.edges):
        local = topology.streams[stream].grouping.kind == "local-or-shuffle"
        for row, place in enumerate((None, cluster.slot_node, slot_rack)):
            found[row, stream] = _together(parts[source], parts[target], place, local)
    return Distances(*found)


@dataclass(frozen=True)
class _Parts:
    """An operator's slots and the part of its tuples handled in each."""

    slots: NDArray[np.int64]
    shares: Floats


def _parts(groups: Groups, shares: Floats, operator: int) -> _Parts:
    here = groups.of_operator(operator)
    slots, at = np.unique(groups.slot[here], return_inverse=True)
    return _Parts(slots, summed(shares[here], at))


def _together(
    sender: _Parts, receiver: _Parts, place: NDArray[np.int64] | None, local: bool
) -> float:
    """The part of tuples whose sender and receiver are in the same place (None: the same slot)."""
    if local:
        stays = np.isin(sender.slots, receiver.slots)
        kept = float(sender.shares[stays].sum())
        leaving = _Parts(sender.slots[~stays], sender.shares[~stays])
        return kept + _together(leaving, receiver, place, local=False)
    sending = sender.slots if place is None else place[sender.slots]
    receiving = receiver.slots if place is None else place[receiver.slots]
    size = int(max(sending.max(initial=0), receiving.max(initial=0))) + 1
    return float(summed(sender.shares, sending, size) @ summed(receiver.shares, receiving, size))
