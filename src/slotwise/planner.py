"""The whole way from a pipeline to a Plan: rates, threads, machines, places, prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from slotwise import registry
from slotwise.model import (
    Allocation,
    Choice,
    Cluster,
    Goals,
    Node,
    Pipeline,
    Placement,
    Plan,
    Refusal,
    Refused,
    Scheduler,
    SlotwiseError,
    Traffic,
)
from slotwise.placers._base import Placer
from slotwise.predictors import predict, weights
from slotwise.rates import arrival_rates

T = TypeVar("T")
PATIENCE = 16
"""So many refusals are answered with one slot more each."""


def plan_with(pipeline: Pipeline, rate: float, scheduler: Scheduler) -> Plan:
    """One allocator, one provisioner, one placer. Raises Refused with the step's reason.

    1. the allocator says how many threads each operator needs, and so how many slots;
    2. the provisioner buys machines with that many, unless the pipeline has a fixed cluster;
    3. the placer puts every thread in a slot; when it cannot, one slot is added and 2 repeated;
    4. weights and prediction are computed for what came out.
    """
    allocation = _answer(
        registry.allocator(scheduler.allocator, pipeline.goals).allocate(
            pipeline.topology, pipeline.profiles, rate
        )
    )
    placing = _Placing(pipeline, allocation, registry.placer(scheduler.placer))
    if pipeline.cluster is not None:
        placed = _place_on_fixed(placing, pipeline.cluster)
    else:
        placed = _place_on_bought(placing, scheduler.provisioner)
    _check_budget(pipeline.goals, placed.cluster)
    plan = Plan(
        pipeline=replace(pipeline, scheduler=scheduler),
        rate=rate,
        allocation=allocation,
        cluster=placed.cluster,
        slots=placed.slots,
        extra_slots=placed.extra_slots,
        placement=placed.placement,
        weights=weights(pipeline, placed.cluster, placed.placement),
        reasons=(*_allocation_reasons(allocation), *placed.reasons, *placed.placement.reasons),
    )
    return replace(plan, predicted=predict(plan))


def required_rate(pipeline: Pipeline, rate: float | None) -> float:
    """The rate to plan for: the one given, or the pipeline's goal."""
    chosen = pipeline.goals.rate if rate is None else rate
    if chosen is None:
        raise SlotwiseError(
            f"no rate to plan '{pipeline.topology.name}' for: give one, or write goals.rate "
            f"into its spec"
        )
    return chosen


@dataclass(frozen=True)
class _Placed:
    cluster: Cluster
    placement: Placement
    slots: int
    extra_slots: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class _Placing:
    """The placer's question, all but the cluster."""

    pipeline: Pipeline
    allocation: Allocation
    placer: Placer

    @property
    def least_slots(self) -> int:
        return max(self.allocation.slots, self.pipeline.topology.workers or 0)

    def on(self, cluster: Cluster) -> Placement | Refusal:
        topology = self.pipeline.topology
        rates = arrival_rates(topology, self.allocation.rate, self.allocation.threads)
        return self.placer.place(topology, self.allocation, cluster, Traffic(rates.streams))


def _place_on_bought(placing: _Placing, provisioner: Choice) -> _Placed:
    """Buy, place, and buy more while the placer refuses."""
    pipeline, allocation = placing.pipeline, placing.allocation
    buyer = registry.provisioner(provisioner)

    def attempt(slots: int) -> _Attempt:
        cluster = _answer(
            buyer.provision(allocation, pipeline.catalog, pipeline.slot_memory_gb, slots)
        )
        return _Attempt(slots, cluster, placing.on(cluster.first(slots)))

    least = placing.least_slots
    # A slot for every thread is enough for any placer that can place at all.
    placed, refused = _fewest_slots(attempt, least, least + allocation.total_threads)
    assert isinstance(placed.answer, Placement)
    extra = placed.slots - least
    reasons = [f"{least} slots: {_slots_reason(placing)}"]
    if refused is not None:
        reasons.append(f"{extra} extra slot{'s'[: extra > 1]}, because {refused.reason}")
    return _Placed(placed.cluster, placed.answer, placed.slots, extra, tuple(reasons))


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


def _place_on_fixed(placing: _Placing, cluster: Cluster) -> _Placed:
    """Place on the given nodes, the first `goals.machines` of them where that is the budget."""
    budget = placing.pipeline.goals.machines
    allowed = replace(cluster, nodes=cluster.nodes[:budget])
    answer = _place_within(placing, allowed)
    if isinstance(answer, Refusal):
        if answer.final:
            raise Refused(answer)
        raise Refused(_with_enough(placing, allowed, answer))
    used = len(answer.used_slots)
    extra = max(0, used - placing.least_slots)
    reason = f"{placing.least_slots} slots: {_slots_reason(placing)}; {allowed.slots} are given"
    return _Placed(allowed, answer, used, extra, (reason,))


def _place_within(placing: _Placing, cluster: Cluster) -> Placement | Refusal:
    if placing.least_slots > cluster.slots:
        return Refusal(
            placing.placer.name,
            f"{placing.least_slots} slots are needed ({_slots_reason(placing)}), "
            f"the cluster has {cluster.slots}",
            resource="slots",
            missing=placing.least_slots - cluster.slots,
        )
    return placing.on(cluster)


def _with_enough(placing: _Placing, cluster: Cluster, refusal: Refusal) -> Refusal:
    """The refusal, told how many machines like the last one would do (searched to 4 times)."""
    size = len(cluster.nodes)
    enough = _first_true(
        size + 1,
        max(4 * size, 4 * placing.least_slots),
        lambda count: isinstance(_place_within(placing, _grown(cluster, count)), Placement),
    )
    told = f"{enough} machines would do" if enough else "more machines like these would not help"
    return replace(refusal, explanation=f"{refusal.explanation}; {told}, there are {size}")


def _first_true(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The least count in [low, high] found to hold, by bisection (taking it as monotone)."""
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def _grown(cluster: Cluster, count: int) -> Cluster:
    last: Node = cluster.nodes[-1]
    added = tuple(
        replace(last, name=f"{last.name}+{n}") for n in range(1, count - len(cluster.nodes) + 1)
    )
    return replace(cluster, nodes=cluster.nodes + added)


def _check_budget(goals: Goals, cluster: Cluster) -> None:
    if goals.machines is not None and len(cluster.nodes) > goals.machines:
        raise Refused(
            Refusal(
                "planner",
                f"{len(cluster.nodes)} machines would do, the budget is {goals.machines}",
                resource="machines",
                missing=len(cluster.nodes) - goals.machines,
                final=True,
            )
        )


def _allocation_reasons(allocation: Allocation) -> tuple[str, ...]:
    return tuple(
        f"{entry.operator}: {entry.threads} thread{'s'[: entry.threads > 1]} by "
        f"{allocation.algorithm}: {entry.reason}"
        for entry in allocation
    )


def _slots_reason(placing: _Placing) -> str:
    allocation, workers = placing.allocation, placing.pipeline.topology.workers
    if workers is not None and workers > allocation.slots:
        return f"the topology asks for {workers} workers"
    return f"{allocation.cpu:.2f} slots of CPU and {allocation.mem:.2f} of memory are charged"


def _answer(value: T | Refusal) -> T:
    if isinstance(value, Refusal):
        raise Refused(value)
    return value
