"""Machines and places together: buy, or use, machines until the placer has placed all threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from slotwise import registry
from slotwise.model import (
    Allocation,
    Choice,
    Cluster,
    Node,
    Pipeline,
    Placement,
    Plan,
    Refusal,
    Refused,
    ThreadTraffic,
    counted,
)
from slotwise.model.limits import MOST
from slotwise.placers.base import PlacementProblem, Placer

T = TypeVar("T")
PATIENCE = 16
"""So many refusals are answered with one slot more each."""
FEW = 4
"""The most extra slots of a plan that is one of many tries."""


@dataclass(frozen=True)
class Placed:
    """Machines with every thread in one of their slots."""

    cluster: Cluster
    placement: Placement
    slots: int
    extra_slots: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Placing:
    """The placer's question, all but the cluster."""

    pipeline: Pipeline
    allocation: Allocation
    placer: Placer
    current: Plan | None = None
    """The plan in effect."""
    measured: ThreadTraffic | None = None
    """The traffic measured under `current`, between its threads."""
    thorough: bool = True
    """Slots are added until the placer places, and a refusal on a fixed cluster says how many
    machines are enough. False: one of many tries, which ends after few refusals."""

    @property
    def least_slots(self) -> int:
        return max(self.allocation.slots, self.pipeline.topology.workers or 0)

    def on(self, cluster: Cluster) -> Placement | Refusal:
        return self.placer.place(
            PlacementProblem(
                self.pipeline.topology,
                self.allocation,
                cluster,
                _in_effect(self.current, cluster) if self.current else None,
                self._measured,
            )
        )

    @cached_property
    def _measured(self) -> ThreadTraffic | None:
        """The measured traffic between the threads of the allocation."""
        if self.measured is None or self.current is None:
            return None
        before, after = self.current.placement.threads, tuple(self.allocation.threads.tolist())
        return self.measured.for_threads(self.pipeline.topology, before, after)


def _in_effect(current: Plan, cluster: Cluster) -> Placement:
    """The plan's placement with slots numbered as in `cluster`, -1 where that has no such slot.

    Nodes of the same name are the same machine. O(threads + slots).
    """
    number = {slot: position for position, slot in enumerate(cluster.slot_list)}
    slots = [number.get(slot, -1) for slot in current.cluster.slot_list]
    return replace(current.placement, slots=np.array(slots)[current.placement.slots])


def place_on_bought(placing: Placing, provisioner: Choice) -> Placed:
    """Buy, place, and buy more while the placer refuses."""
    pipeline, allocation = placing.pipeline, placing.allocation
    buyer = registry.provisioner(provisioner)

    def attempt(slots: int) -> _Attempt:
        cluster = answered(
            buyer.provision(allocation, pipeline.catalog, pipeline.slot_memory_gb, slots)
        )
        return _Attempt(slots, cluster, placing.on(cluster.first(slots)))

    least = placing.least_slots
    if least > MOST:
        raise Refused(_too_few_slots(placing, f"a plan has at most {MOST:,}", MOST))
    # A slot for every thread is enough for any placer that can place at all.
    most = least + (allocation.total_threads if placing.thorough else FEW)
    placed, refused = _fewest_slots(attempt, least, most)
    assert isinstance(placed.answer, Placement)
    extra = placed.slots - least
    reasons = [f"{counted(least, 'slot')}: {_slots_reason(placing)}"]
    if refused is not None:
        reasons.append(f"{counted(extra, 'extra slot')}, because {refused.reason}")
    return Placed(placed.cluster, placed.answer, placed.slots, extra, tuple(reasons))


@dataclass(frozen=True)
class _Attempt:
    """What the placer said to so many slots."""

    slots: int
    cluster: Cluster
    answer: Placement | Refusal


def _fewest_slots(
    attempt: Callable[[int], _Attempt], least: int, most: int
) -> tuple[_Attempt, Refusal | None]:
    """The first attempt that places, and the refusal before it.

    One slot more each time, or as many as the refusal says are lacking. After PATIENCE refusals
    the steps double, and the first number that places is then sought between the last two: a
    large pipeline may need thousands more.
    """
    made, refusal = attempt(least), None
    too_few, refusals, step = least - 1, 0, 1
    while isinstance(made.answer, Refusal):
        refusal = made.answer
        if refusal.final or made.slots == most:
            raise Refused(refusal)
        lacking = math.ceil(refusal.missing or 1) if refusal.resource == "slots" else 1
        too_few = made.slots + max(1, lacking) - 1
        refusals += 1
        step = 2 * step if refusals > PATIENCE else 1
        made = attempt(min(most, made.slots + max(step, lacking)))
    while made.slots - too_few > 1:
        between = attempt((made.slots + too_few) // 2)
        if isinstance(between.answer, Refusal):
            too_few, refusal = between.slots, between.answer
        else:
            made = between
    return made, refusal


def place_on_given(placing: Placing, cluster: Cluster) -> Placed:
    """Place on the given nodes, the first `goals.machines` of them where that is the budget."""
    budget = placing.pipeline.goals.machines
    allowed = replace(cluster, nodes=cluster.nodes[:budget])
    answer = _place_within(placing, allowed)
    if isinstance(answer, Refusal):
        if answer.final or not placing.thorough:
            raise Refused(answer)
        raise Refused(_with_enough(placing, allowed, answer))
    used, least = len(answer.used_slots), placing.least_slots
    extra, refused = _forced(placing, allowed, used)
    reasons = [f"{counted(least, 'slot')}: {_slots_reason(placing)}; {allowed.slots:,} given"]
    if refused is not None:
        reasons.append(f"{counted(extra, 'extra slot')}, because {refused.reason}")
    return Placed(allowed, answer, used, extra, tuple(reasons))


def _forced(placing: Placing, cluster: Cluster, used: int) -> tuple[int, Refusal | None]:
    """Of the slots used, how many the placer needs beyond those that the allocation pays for, and
    its refusal of fewer. Placers that spread threads use more slots than they need.
    """
    least = placing.least_slots
    if used <= least or not placing.placer.guarantees or not placing.thorough:
        return 0, None
    refusal = placing.on(cluster.first(least))
    if isinstance(refusal, Placement):
        return 0, None
    enough = first_true(
        least + 1, used, lambda slots: isinstance(placing.on(cluster.first(slots)), Placement)
    )
    return (enough or used) - least, refusal


def _place_within(placing: Placing, cluster: Cluster) -> Placement | Refusal:
    if placing.least_slots > cluster.slots:
        return _too_few_slots(placing, f"the cluster has {cluster.slots:,}", cluster.slots)
    return placing.on(cluster)


def _too_few_slots(placing: Placing, available: str, slots: int) -> Refusal:
    """With more than a plan may have, more machines do not help."""
    return Refusal(
        placing.placer.name,
        f"{counted(placing.least_slots, 'slot')} are needed ({_slots_reason(placing)}), "
        f"{available}",
        resource="slots",
        missing=placing.least_slots - slots,
        final=placing.least_slots > MOST,
    )


def _with_enough(placing: Placing, cluster: Cluster, refusal: Refusal) -> Refusal:
    """The refusal with the number of machines like the last one that is enough, up to 4 times."""
    size = len(cluster.nodes)
    most = max(4 * size, 4 * placing.least_slots)

    def places(count: int) -> bool:
        return isinstance(_place_within(placing, grown(cluster, count)), Placement)

    # Most often enough slots are enough, and trying with many more would take as much longer.
    lacking = placing.least_slots - cluster.slots
    low = high = size + max(1, -(-lacking // cluster.nodes[-1].slots))
    while high < most and not places(high):
        low, high = high + 1, min(most, high + 2 * (high - low + 1))
    enough = first_true(low, high, places)
    hint = "more machines of this size do not help"
    if enough:
        given = "there is 1" if size == 1 else f"there are {size:,}"
        hint = f"{counted(enough, 'machine')} are enough, {given}"
    return replace(refusal, explanation=f"{refusal.explanation}; {hint}")


def first_true(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The least count in [low, high] found to hold, by bisection (taking it as monotone)."""
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def grown(cluster: Cluster, count: int) -> Cluster:
    last: Node = cluster.nodes[-1]
    added = tuple(
        replace(last, name=f"{last.name}+{n}") for n in range(1, count - len(cluster.nodes) + 1)
    )
    return replace(cluster, nodes=cluster.nodes + added)


def _slots_reason(placing: Placing) -> str:
    allocation, workers = placing.allocation, placing.pipeline.topology.workers
    if workers is not None and workers > allocation.slots:
        return f"the topology asks for {counted(workers, 'worker')}"
    return f"{allocation.cpu:.2f} slots of CPU and {allocation.mem:.2f} of memory are charged"


def answered(value: T | Refusal) -> T:
    """The value; a refusal is raised."""
    if isinstance(value, Refusal):
        raise Refused(value)
    return value
