"""The whole way from a pipeline to a Plan: rates, threads, machines, places, prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from slotwise import registry
from slotwise.confirmation import confirmed
from slotwise.fitting import Placing, answered, place_on_bought, place_on_given
from slotwise.model import (
    Allocation,
    Choice,
    Cluster,
    Goals,
    Observation,
    Operator,
    Pipeline,
    Plan,
    Refusal,
    Refused,
    Scheduler,
    SlotwiseError,
    counted,
)
from slotwise.prediction import predict
from slotwise.provenance import warnings
from slotwise.weights import weights

USUAL_PROVISIONER = Choice("largest-first")
"""What `auto` is beside a named allocator and a named placer: as in paper 1."""


@dataclass(frozen=True)
class Request:
    """What is to be planned, and the steps that lead there.

    To plan again what already runs, give the plan in effect (`current`), which is for the same
    operators, and what was `measured` under it; see placers/base.py for who uses them.
    """

    pipeline: Pipeline
    rate: float
    scheduler: Scheduler
    current: Plan | None = None
    measured: Observation | None = None

    def __post_init__(self) -> None:
        registry.check_names(self.scheduler)
        _check_current(self)

    def allocate(self, allocator: Choice, rate: float) -> Allocation | Refusal:
        """How many threads each operator needs at `rate`, and so how many slots."""
        pipeline = self.pipeline
        return registry.allocator(allocator).allocate(
            pipeline.topology, pipeline.profiles, rate, pipeline.goals
        )

    def place(
        self,
        allocation: Allocation,
        provisioner: Choice,
        placer: Choice,
        thorough: bool = True,
    ) -> Plan:
        """Machines for the allocation, a slot for every thread, weights and prediction.

        The provisioner buys machines, unless the pipeline has a fixed cluster; when the placer
        cannot place, one slot is added and both repeat. Raises Refused with the step's reason,
        and for an operator with more threads than it can have (`_check_threads`).
        See `Placing.thorough` for what else it takes.
        """
        _check_threads(self, allocation)
        pipeline = replace(
            self.pipeline, scheduler=replace(self.scheduler, provisioner=provisioner)
        )
        traffic = self.measured.thread_traffic if self.measured is not None else None
        placing = Placing(
            pipeline, allocation, registry.placer(placer), self.current, traffic, thorough
        )
        if pipeline.cluster is not None:
            placed = place_on_given(placing, pipeline.cluster)
        else:
            placed = place_on_bought(placing, provisioner)
        plan = Plan(
            pipeline=pipeline,
            rate=self.rate,
            allocation=allocation,
            cluster=placed.cluster,
            slots=placed.slots,
            extra_slots=placed.extra_slots,
            placement=placed.placement,
            weights=weights(pipeline, placed.cluster, placed.placement),
            reasons=(*_allocation_reasons(allocation), *placed.reasons, *placed.placement.reasons),
        )
        return replace(plan, predicted=predict(plan))


def plan_as_chosen(request: Request, most_s: float = math.inf) -> Plan:
    """The plan of the named algorithms, or the best that is found where some are `auto`, about
    within `most_s` seconds; with its simulation, and with warnings where profiles were measured
    elsewhere.
    """
    chosen = request.scheduler
    if registry.AUTO in (chosen.allocator.name, chosen.placer.name):
        from slotwise.search import search

        plan = search(request, most_s)
    else:
        plan = confirmed(plan_with(request))
    return replace(plan, warnings=warnings(request.pipeline))


def plan_with(request: Request) -> Plan:
    """One allocator, one provisioner, one placer, as in their papers. Raises Refused."""
    chosen = request.scheduler
    allocation = answered(request.allocate(chosen.allocator, request.rate))
    provisioner = chosen.provisioner
    if provisioner.name == registry.AUTO:
        provisioner = USUAL_PROVISIONER
    plan = request.place(allocation, provisioner, chosen.placer)
    check_budget(request.pipeline.goals, plan.cluster)
    return plan


def asking_for(pipeline: Pipeline, rate: float | None) -> tuple[Pipeline, float]:
    """The pipeline with `rate` as its goal, and the rate: the one given, or the pipeline's own.

    So the rate that is asked for is planned for, and the plan is judged by it.
    """
    chosen = pipeline.goals.rate if rate is None else rate
    if chosen is None:
        raise SlotwiseError(
            f"no rate to plan '{pipeline.topology.name}' for: pass a rate (--rate), or set "
            "goals.rate in the spec"
        )
    return replace(pipeline, goals=replace(pipeline.goals, rate=chosen)), chosen


def check_budget(goals: Goals, cluster: Cluster) -> None:
    """Raises Refused where the goals allow fewer machines."""
    if goals.machines is not None and len(cluster.nodes) > goals.machines:
        raise Refused(
            Refusal(
                "planner",
                f"{len(cluster.nodes)} machines are needed, the budget is {goals.machines}",
                resource="machines",
                missing=len(cluster.nodes) - goals.machines,
                final=True,
            )
        )


def _allocation_reasons(allocation: Allocation) -> tuple[str, ...]:
    return tuple(
        f"{entry.operator}: {counted(entry.threads, 'thread')} by "
        f"{allocation.algorithm}: {entry.reason}"
        for entry in allocation
    )


def _check_threads(request: Request, allocation: Allocation) -> None:
    """Raises Refused where an operator has more threads than parts that its work is divided into.

    Here, where every plan is made, so that neither an allocator nor a controller can pass it. Key
    groups can still be set for a first plan; what runs has divided its state for good.
    """
    for operator, entry in zip(request.pipeline.topology.operators, allocation, strict=True):
        if operator.logic.is_keyed and request.current is None:
            continue
        most = operator.most_threads
        if most is not None and entry.threads > most:
            raise Refused(_too_many_threads(allocation.algorithm, operator, entry.threads, most))


def _too_many_threads(algorithm: str, operator: Operator, threads: int, most: int) -> Refusal:
    if operator.logic.is_keyed:
        parts = f"its keys are divided into {counted(most, 'group')}: set key_groups: {threads}"
    else:
        parts = f"its topic has {counted(most, 'partition')}: add partitions to it"
    return Refusal(
        algorithm,
        f"{operator.kind} '{operator.name}' needs {counted(threads, 'thread')}, and {parts}",
        operator=operator.name,
        resource="threads",
        missing=float(threads - most),
        final=True,
    )


def _check_current(request: Request) -> None:
    topology, current = request.pipeline.topology, request.current
    if request.measured is not None and current is None:
        raise SlotwiseError(
            "measured traffic needs the plan that it was measured under: pass it as current"
        )
    names = [operator.name for operator in topology.operators]
    if current is not None and [entry.operator for entry in current.allocation] != names:
        raise SlotwiseError(
            f"the current plan is for topology '{current.pipeline.topology.name}', whose operators "
            f"are not those of '{topology.name}'"
        )
