"""Paper 1's cases: an allocator and a placer on a DAG, planned, predicted and simulated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slotwise.model import (
    Choice,
    Cluster,
    Grouping,
    Node,
    Observation,
    Pipeline,
    Plan,
    Prediction,
    Refused,
    Scheduler,
)
from slotwise.planner import Request, plan_with
from slotwise.simulation import Arrivals, simulate
from slotwise.studies.study import Effort

STEP = 5.0
"""Rates are tried in these steps, as the paper does."""
SLOTS, SLOTS_PER_NODE = 20, 4
PAIRS = (
    ("lsa", "round-robin"),
    ("lsa", "r-storm"),
    ("mba", "round-robin"),
    ("mba", "r-storm"),
    ("mba", "sam"),
)
"""The paper's LSA+DSM, LSA+RSM, MBA+DSM, MBA+RSM and MBA+SAM."""
OWN, BASELINE = "mba+sam", "lsa+r-storm"


@dataclass(frozen=True)
class Case:
    """One pair on one DAG: what was planned, what the model says, what the simulation shows."""

    dag: str
    pair: str
    plan: Plan
    simulated: float

    @property
    def predicted(self) -> Prediction:
        assert self.plan.predicted is not None
        return self.plan.predicted


@dataclass(frozen=True)
class Observed:
    """A case at its highest stable rate, and somewhat below it."""

    case: Case
    peak: Observation
    below: Observation


def observed(case: Case, below: float, effort: Effort) -> Observed:
    """`below` is a part of the highest stable rate."""
    return Observed(
        case,
        _seen(case.plan, case.simulated, effort),
        _seen(case.plan, below * case.simulated, effort),
    )


def case_of_rate(
    dag: str, pipeline: Pipeline, allocator: str, placer: str, rate: float, effort: Effort
) -> Case:
    """Planned for a rate, on as many slots as that takes."""
    plan = plan_with(Request(pipeline, rate, scheduler(allocator, placer)))
    return Case(dag, f"{allocator}+{placer}", plan, highest_rate(plan, effort))


def case_of_fixed(
    dag: str, pipeline: Pipeline, allocator: str, placer: str, effort: Effort
) -> Case:
    """The highest planned rate, in steps of 10, that the pair still places on 20 slots."""
    memory_gb = pipeline.slot_memory_gb * SLOTS_PER_NODE
    nodes = tuple(
        Node(f"d3-{n + 1}", SLOTS_PER_NODE, memory_gb) for n in range(SLOTS // SLOTS_PER_NODE)
    )
    here = replace(pipeline, catalog=(), cluster=Cluster(nodes, pipeline.slot_memory_gb))
    chosen, best, rate = scheduler(allocator, placer), None, 2 * STEP
    while True:
        try:
            best = plan_with(Request(here, rate, chosen))
        except Refused:
            break
        rate += 2 * STEP
    assert best is not None
    return Case(dag, f"{allocator}+{placer}", best, highest_rate(best, effort))


def highest_rate(plan: Plan, effort: Effort, step: float = STEP) -> float:
    """In steps, by bisection between no rate and 1.3 times what the model or the plan promises."""
    assert plan.predicted is not None
    promised = max(plan.rate, plan.predicted.proportional_capacity)
    low, high = 0, int(1.3 * promised / step) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _stable(plan, middle * step, effort) else (low, middle)
    return low * step


def _stable(plan: Plan, rate: float, effort: Effort) -> bool:
    return bool(_seen(plan, rate, effort).stable)


def _seen(plan: Plan, rate: float, effort: Effort) -> Observation:
    return simulate(
        plan,
        rate,
        arrivals=Arrivals("constant"),
        duration_s=effort.pick(900.0, 100.0),
        warm_up=0.3,
        seed=effort.seed,
    )


def routed_by_weights(plan: Plan) -> Plan:
    """The same plan with every shuffled stream routed by the plan's weights."""
    topology = plan.pipeline.topology
    streams = tuple(replace(stream, grouping=Grouping("weighted")) for stream in topology.streams)
    pipeline = replace(plan.pipeline, topology=replace(topology, streams=streams))
    return replace(plan, pipeline=pipeline)


def scheduler(allocator: str, placer: str) -> Scheduler:
    return Scheduler(allocator=Choice(allocator), placer=Choice(placer))
