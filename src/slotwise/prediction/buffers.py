"""What slots take for buffers: every thread sends every other one that it feeds buffers of its own.

A pair of threads sends a number of buffers that grows less and less with its tuples
(model.Platform.buffers_per_s). Each costs the slots at both ends CPU beside their threads, by how
far apart they are. Pairs are counted, not listed: threads of one end that get the same are one
kind, and a group of threads meets so many of each kind in its slot, on its node and elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Platform, Topology
from slotwise.prediction.groups import Floats, Groups, summed
from slotwise.rates import ArrivalRates

ALIKE = 0.1
"""Threads whose parts of the tuples differ by less are counted as if they got the least or the most
of them. Buffers are then off by 0.1 % at most; near the rate at which they begin to fill before
they are old, by 3 %."""
ROUNDING = 1e-9

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Buffers:
    """Kinds of pairs, and what a buffer of each pair costs where: parallel arrays of entries."""

    platform: Platform
    slots: int
    pair_rate: Floats
    """[kind of pair]: tuples/s of one pair at an input rate of 1."""
    kind: Integers
    slot: Integers
    cpu_s: Floats
    """In seconds of a reference slot, of all pairs of the kind that end in this slot together."""

    def cpu(self, rate: float) -> Floats:
        """Per slot, at the input rate `rate`, in reference slots. O(entries)."""
        sent = self.platform.buffers_per_s(self.pair_rate * rate)
        return summed(self.cpu_s * sent[self.kind], self.slot, self.slots)


@dataclass(frozen=True)
class BufferCosts:
    """[group, distance]: seconds of a reference slot for a buffer that a group's thread sends, or
    receives, within its slot, on its node, or further.
    """

    send: Floats
    receive: Floats


def buffers_of(
    platform: Platform,
    topology: Topology,
    cluster: Cluster,
    groups: Groups,
    costs: BufferCosts,
    unit: ArrivalRates,
    shares: Floats,
    receiving: Sequence[Floats],
) -> Buffers:
    """`shares` is each group's part of what its operator sends, `receiving` per stream the part
    that each group of its target gets.

    O(streams × (slots + groups) × kinds of threads at the other end): one kind where tuples are
    dealt out evenly, at most 48 for each power of ten between the least and the most that threads
    get.
    """
    found: list[_Entries] = []
    for stream, (source, target) in enumerate(topology.edges):
        if unit.streams[stream] <= 0:
            continue
        senders = _End.of(groups, cluster, groups.of_operator(source), shares, costs.send)
        here = groups.of_operator(target)
        got = np.zeros(len(shares))
        got[here] = receiving[stream]
        receivers = _End.of(groups, cluster, here, got, costs.receive)
        if topology.streams[stream].grouping.kind == "local-or-shuffle":
            stays = np.isin(senders.slot, receivers.slot)
            found.append(_in_slots(senders.only(stays), receivers, unit.streams[stream], cluster))
            senders = senders.only(~stays)
        found += _both_ends(senders, receivers, unit.streams[stream], cluster)
    return _merged(platform, cluster.slots, found)


class _Entries(NamedTuple):
    """As in Buffers, with the pair rates of this stream only."""

    pair_rate: Floats
    kind: Integers
    slot: Integers
    cpu_s: Floats


@dataclass(frozen=True)
class _End:
    """The groups at one end of a stream that get tuples of it: parallel arrays."""

    slot: Integers
    node: Integers
    threads: Floats
    share: Floats
    """Of one thread."""
    cost: Floats
    """[group, distance]"""

    @classmethod
    def of(
        cls, groups: Groups, cluster: Cluster, here: slice, shares: Floats, cost: Floats
    ) -> _End:
        slot, threads = groups.slot[here], groups.threads[here].astype(np.float64)
        end = cls(slot, cluster.slot_node[slot], threads, shares[here] / threads, cost[here])
        return end.only(end.share > 0)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self.slot, self.node, self.threads, self.share, self.cost

    def only(self, which: NDArray[np.bool_]) -> _End:
        return _End(*(each[which] for each in self.arrays))

    def in_few_kinds(self) -> _End:
        """Each thread as two parts of one, of which one gets the least of all that are alike, and
        the other the most, so that together they get what it gets.
        """
        near = np.unique(np.floor(np.log(self.share) / ALIKE), return_inverse=True)[1]
        least, most = np.full(len(near), np.inf), np.zeros(len(near))
        np.minimum.at(least, near, self.share)
        np.maximum.at(most, near, self.share)
        least, most = least[near], most[near]
        apart = most - least > ROUNDING * most
        part = np.divide(self.share - least, most - least, out=np.zeros(len(near)), where=apart)
        lower = replace(self, threads=self.threads * (1 - part), share=least)
        upper = replace(self, threads=self.threads * part, share=most)
        both = [np.concatenate(pair) for pair in zip(lower.arrays, upper.arrays, strict=True)]
        return _End(*both).only(np.concatenate((part < 1, part > 0)))

    def met(self, others: _End, kind: Integers, kinds: int, cluster: Cluster) -> Floats:
        """[group, kind of the others, distance]: how many of their threads are how far away."""

        def counted(place: Integers, places: int) -> Floats:
            return summed(others.threads, place * kinds + kind, places * kinds).reshape(-1, kinds)

        in_slot = counted(others.slot, cluster.slots)[self.slot]
        on_node = counted(others.node, len(cluster.nodes))[self.node]
        further = summed(others.threads, kind, kinds) - on_node
        return np.stack((in_slot, on_node - in_slot, further), axis=2)


def _both_ends(senders: _End, receivers: _End, rate: float, cluster: Cluster) -> Iterator[_Entries]:
    """Every thread sends to every one: entries for each group and kind of threads that it meets."""
    if not len(senders.slot) or not len(receivers.slot):
        return
    senders, receivers = senders.in_few_kinds(), receivers.in_few_kinds()
    sent, sent_kind = np.unique(senders.share, return_inverse=True)
    got, got_kind = np.unique(receivers.share, return_inverse=True)
    number = np.arange(len(sent) * len(got)).reshape(len(sent), len(got))
    pair_rate = rate * np.multiply.outer(sent, got).ravel()
    for ours, others, kinds, kind, size in (
        (senders, receivers, number[sent_kind], got_kind, len(got)),
        (receivers, senders, number.T[got_kind], sent_kind, len(sent)),
    ):
        met = ours.met(others, kind, size, cluster)
        cpu_s = ours.threads[:, None] * np.einsum("gkd,gd->gk", met, ours.cost)
        yield _Entries(pair_rate, kinds.ravel(), np.repeat(ours.slot, size), cpu_s.ravel())


def _in_slots(senders: _End, receivers: _End, rate: float, cluster: Cluster) -> _Entries:
    """Threads send only to those in their slot, all of them the same."""
    there = summed(receivers.threads, receivers.slot, cluster.slots)[senders.slot]
    receive = receivers.threads * receivers.cost[:, 0]
    cost = there * senders.cost[:, 0] + summed(receive, receivers.slot, cluster.slots)[senders.slot]
    kind = np.arange(len(there))
    return _Entries(rate * senders.share / there, kind, senders.slot, senders.threads * cost)


def _merged(platform: Platform, slots: int, found: Sequence[_Entries]) -> Buffers:
    """All streams together."""
    none = np.zeros(0, dtype=np.int64)
    first = np.cumsum([0, *(len(each.pair_rate) for each in found)])
    kinds = [each.kind + start for each, start in zip(found, first[:-1], strict=True)]
    return Buffers(
        platform=platform,
        slots=slots,
        pair_rate=np.concatenate([np.zeros(0), *(each.pair_rate for each in found)]),
        kind=np.concatenate([none, *kinds]),
        slot=np.concatenate([none, *(each.slot for each in found)]),
        cpu_s=np.concatenate([np.zeros(0), *(each.cpu_s for each in found)]),
    )
