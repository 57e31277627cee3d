"""The highest input rate a placement sustains, under a given routing (paper 1, section 8.5).

At input rate R a group with share w of its operator's tuples handles R·u·w, u being the operator's
arrivals per input tuple. It keeps up while that is within its peak rate; and a slot keeps up while
the CPU its groups then need is within its own: past that all its threads slow down in proportion.
Both are linear in R, so the limit has a closed form. What slots take for buffers is not: there the
limit is searched for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Topology
from slotwise.model.limits import LARGEST
from slotwise.prediction.groups import Floats, Groups
from slotwise.rates import ArrivalRates

PRECISION = 1e-12
"""How near, relatively, a limit is found that is searched for."""


@dataclass(frozen=True)
class Sustained:
    """The limit, and the operator that sets it."""

    rate: float
    bottleneck: int


def sustained_rate(
    groups: Groups,
    shares: Floats,
    unit: ArrivalRates,
    cluster: Cluster,
    of_slots: bool = True,
    busiest: Floats | None = None,
) -> Sustained:
    """The highest input rate at which every thread keeps up, and every slot if `of_slots`.

    `busiest` is `busiest_shares` where the threads of a group do not all get the same. O(groups);
    with buffers O(rounds × (groups + entries of buffers)), and rounds are about 5.
    """
    arriving = unit.operators[groups.operator] * shares
    most = arriving if busiest is None else unit.operators[groups.operator] * busiest
    limits = _ratio(groups.peak, most)
    # What takes no time does not slow down; the operators beside it in the slot do.
    limits[groups.fixed] = np.inf
    if of_slots:
        limits = _with_slots(groups, arriving, cluster, limits)
    tightest = int(np.argmin(limits))
    return Sustained(float(limits[tightest]), int(groups.operator[tightest]))


def _with_slots(groups: Groups, arriving: Floats, cluster: Cluster, of_threads: Floats) -> Floats:
    """Per group, the lower of its threads' limit and its slot's."""
    need, fixed = cpu_need(groups, arriving, cluster.slots)
    left, buffers = cluster.slot_cpu - fixed, groups.buffers

    def lower(left: Floats, full: NDArray[np.bool_] | None = None) -> Floats:
        by_slot = _ratio(np.maximum(left, 0.0), need)
        if full is not None:
            by_slot[full] = 0.0
        limits = np.minimum(of_threads, by_slot[groups.slot])
        limits[groups.fixed] = np.inf
        return limits

    if buffers is None:
        return lower(left)
    sending = buffers.cpu(1.0) > 0

    def if_buffers_are_sent_at(rate: float) -> Floats:
        rest = left - buffers.cpu(rate)
        return lower(rest, full=sending & (rest <= 0))

    return _where_both_agree(if_buffers_are_sent_at)


def _where_both_agree(limits_if: Callable[[float], Floats]) -> Floats:
    """The limits at the rate that is their own minimum. `limits_if(rate)` fall with the rate.

    A rate within its limits is below the one we look for, and the limits are above it; else it is
    the other way round. So every round tightens both ends. The next rate is by the secant of the
    last two, every third time halfway between the ends.
    """
    before, spare = 0.0, min(float(limits_if(0.0).min()), LARGEST**2)
    low, high, rate, rounds = 0.0, spare, spare, 0
    while low < high * (1 - PRECISION):
        limit = float(limits_if(rate).min())
        low, high = (rate, min(high, limit)) if limit >= rate else (max(low, limit), rate)
        rounds += 1
        change = (limit - rate - spare) / (rate - before)
        guess = rate - (limit - rate) / change if change < 0 else low
        before, spare = rate, limit - rate
        rate = guess if low < guess < high and rounds % 3 else (low + high) / 2
    return np.maximum(limits_if(high), low)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Infinite where the denominator is 0."""
    unlimited = np.full(len(numerator), np.inf)
    np.divide(numerator, denominator, out=unlimited, where=denominator > 0)
    return unlimited


def slot_cpu(groups: Groups, arriving: Floats, slots: int) -> Floats:
    """CPU that each slot's groups need, in reference slots, when `arriving` tuples/s reach them."""
    need, fixed = cpu_need(groups, np.minimum(arriving, groups.peak), slots)
    return need + fixed


def own_shares(groups: Groups, topology: Topology, unit: ArrivalRates, by_weight: Floats) -> Floats:
    """Each group's part of its operator's tuples as the topology's groupings route them.

    `global` sends all to thread 0, `weighted` and `auto` go by `by_weight`, `fields` by the keys
    that the threads have, all others are even over the threads. An operator with several inputs
    gets their mix.
    """
    return _mixed_shares(groups, topology, unit, by_weight, groups.keyed)


def busiest_shares(
    groups: Groups, topology: Topology, unit: ArrivalRates, by_weight: Floats
) -> Floats:
    """What `own_shares` would be if all threads of a group got what its busiest one gets."""
    return _mixed_shares(groups, topology, unit, by_weight, groups.keyed_most)


def stream_shares(
    groups: Groups, topology: Topology, by_weight: Floats, keyed: Floats | None = None
) -> list[Floats]:
    """Per stream, the part of its tuples that each group of its target gets; see `own_shares`."""
    even = groups.even_shares()
    routed = {
        "global": groups.leads.astype(np.float64),
        "weighted": by_weight,
        "auto": by_weight,
        "fields": groups.keyed if keyed is None else keyed,
    }
    return [
        routed.get(stream.grouping.kind, even)[groups.of_operator(target)]
        for stream, (_, target) in zip(topology.streams, topology.edges, strict=True)
    ]


def _mixed_shares(
    groups: Groups, topology: Topology, unit: ArrivalRates, by_weight: Floats, keyed: Floats
) -> Floats:
    shares = groups.even_shares()
    by_stream = stream_shares(groups, topology, by_weight, keyed)
    for position, inputs in enumerate(topology.inputs):
        kinds = [topology.streams[stream].grouping.kind for stream in inputs]
        if not {"global", "weighted", "auto", "fields"}.intersection(kinds):
            continue
        rates = unit.streams[list(inputs)]
        mixed = sum(unit.streams[stream] * by_stream[stream] for stream in inputs)
        shares[groups.of_operator(position)] = mixed / rates.sum()
    return shares


def cpu_need(groups: Groups, arriving: Floats, slots: int) -> tuple[Floats, Floats]:
    """Per slot: CPU needed by `arriving` tuples/s more than without any; and without any: by fixed
    loads, by threads that wait, and idle.

    What `groups.buffers` needs is in neither.
    """
    more = groups.cpu - groups.waiting_cpu
    busy = np.where(groups.fixed, 0.0, more * arriving / groups.peak)
    always = groups.per_slot(groups.always_cpu + groups.waiting_cpu, slots)
    return groups.per_slot(busy, slots), always + groups.beside_cpu(slots)
