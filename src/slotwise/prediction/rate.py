"""The highest input rate a placement sustains, under a given routing (paper 1, section 8.5).

At input rate R a group with share w of its operator's tuples handles R·u·w, u being the operator's
arrivals per input tuple. It keeps up while that is within its peak rate; and a slot keeps up while
the CPU its groups then need is within its own: past that all its threads slow down in proportion.
Both are linear in R, so the limit has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slotwise.model import Cluster, Topology
from slotwise.prediction.groups import Floats, Groups
from slotwise.rates import ArrivalRates


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

    `busiest` is `busiest_shares` where the threads of a group do not all get the same.
    """
    arriving = unit.operators[groups.operator] * shares
    most = arriving if busiest is None else unit.operators[groups.operator] * busiest
    limits = _ratio(groups.peak, most)
    if of_slots:
        need, fixed = cpu_need(groups, arriving, cluster.slots)
        by_slot = _ratio(np.maximum(cluster.slot_cpu - fixed, 0.0), need)
        limits = np.minimum(limits, by_slot[groups.slot])
    # What takes no time does not slow down; the operators beside it in the slot do.
    limits[groups.fixed] = np.inf
    tightest = int(np.argmin(limits))
    return Sustained(float(limits[tightest]), int(groups.operator[tightest]))


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


def _mixed_shares(
    groups: Groups, topology: Topology, unit: ArrivalRates, by_weight: Floats, keyed: Floats
) -> Floats:
    even = groups.even_shares()
    shares = even.copy()
    for position, inputs in enumerate(topology.inputs):
        kinds = [topology.streams[stream].grouping.kind for stream in inputs]
        if not {"global", "weighted", "auto", "fields"}.intersection(kinds):
            continue
        here = groups.of_operator(position)
        leads, weighted = groups.leads[here] * 1.0, by_weight[here]
        routed = {
            "global": leads,
            "weighted": weighted,
            "auto": weighted,
            "fields": keyed[here],
        }
        rates = unit.streams[list(inputs)]
        mixed = sum(
            rate * routed.get(kind, even[here]) for rate, kind in zip(rates, kinds, strict=True)
        )
        shares[here] = mixed / rates.sum()
    return shares


def cpu_need(groups: Groups, arriving: Floats, slots: int) -> tuple[Floats, Floats]:
    """Per slot: CPU needed by `arriving` tuples/s, and at any rate: by fixed loads, and idle."""
    busy = np.where(groups.fixed, 0.0, groups.cpu * arriving / groups.peak)
    always = groups.per_slot(groups.always_cpu, slots) + groups.idle(groups.idle_cpu, slots)
    return groups.per_slot(busy, slots), always
