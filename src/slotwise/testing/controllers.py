"""What every controller keeps: inherit from `ControllerContract`, or call `check` on a case."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import ClassVar

from hypothesis import assume
from hypothesis import strategies as st

from slotwise.controllers.base import Controller, Situation
from slotwise.model import (
    Choice,
    Cluster,
    Decision,
    Goals,
    Observation,
    Pipeline,
    Plan,
    Scheduler,
    SlotwiseError,
)
from slotwise.model.decision import kind_of
from slotwise.planner import Request, plan_with
from slotwise.simulation import SimulatedDeployment
from slotwise.testing import strategies
from slotwise.testing.answers import answer_to, check_all, check_fits

PERIODS = 4
INPUTS = 100
"""In the mean, per period."""


class ControllerContract:
    """Tests of any controller. A subclass gives the argument `controller`: one controller, or one
    after the other, by `pytest.mark.parametrize("controller", [...])` or a fixture of that name.
    """

    examples: ClassVar[int] = 10
    """Random cases per test."""

    def test_fits_the_registry(self, controller: Controller) -> None:
        check_fits("controller", controller)

    def test_keeps_the_contract(self, controller: Controller) -> None:
        check_all(situations(), lambda case: check(controller, case), self.examples)

    def test_decides_without_what_is_not_measured(self, controller: Controller) -> None:
        def decides(case: Situation) -> None:
            blind = tuple(map(without_what_may_be_unknown, case.observations))
            check(controller, replace(case, observations=blind))

        check_all(situations(), decides, self.examples)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """A random pipeline, planned for one rate and simulated for some periods at another."""
    pipeline = replace(draw(strategies.pipelines()), goals=draw(goals()))
    plan = planned(pipeline, draw(st.floats(1.0, 1000.0)))
    assume(plan is not None)
    assert plan is not None
    offered = plan.rate * draw(st.sampled_from([0.2, 0.7, 1.0, 1.3, 3.0]))
    period_s = INPUTS / offered
    at_work = SimulatedDeployment(plan, offered, resolution_s=period_s, kept_s=PERIODS * period_s)
    return observed(plan, at_work, period_s)


def planned(pipeline: Pipeline, rate: float) -> Plan | None:
    """For `rate`, or the first of its parts that can be planned for."""
    scheduler = Scheduler(Choice("lsa"), Choice("largest-first"), Choice("round-robin"))
    for part in (1.0, 0.1, 0.01, 0.001):
        goals = replace(pipeline.goals, rate=rate * part)
        asked = replace(pipeline, goals=goals, scheduler=scheduler)
        with contextlib.suppress(SlotwiseError):
            return plan_with(Request(asked, rate * part, scheduler))
    return None


def goals() -> st.SearchStrategy[Goals]:
    """With and without a latency goal, and with a budget."""
    latencies = st.sampled_from([None, 10.0, 1000.0])
    return st.builds(
        Goals,
        latency_ms=latencies,
        latency_p99_ms=latencies,
        machines=st.sampled_from([None, 50]),
    )


def observed(plan: Plan, at_work: SimulatedDeployment, period_s: float) -> Situation:
    """The plan after PERIODS periods."""
    seen: list[Observation] = []
    for _ in range(PERIODS):
        at_work.advance(period_s)
        seen.append(at_work.observe(period_s))
    rates = tuple((each.end_s or 0.0, each.offered_rate) for each in seen)
    return Situation(plan, tuple(seen), plan.pipeline.goals, at_work.now_s(), period_s, rates)


def without_what_may_be_unknown(seen: Observation) -> Observation:
    """Only what every origin knows."""
    return replace(
        seen,
        throughput=None,
        capacity=None,
        backlog=None,
        stable=None,
        busiest=None,
        bottleneck=None,
        latency_ms=None,
        latency_p50_ms=None,
        latency_p95_ms=None,
        latency_p99_ms=None,
        latency_slope=None,
        sojourn_ms=None,
        network_ms=None,
        operators=tuple(
            replace(
                load,
                emitted_rate=None,
                capacity=None,
                waiting_ms=None,
                service_ms=None,
                network_ms=None,
                service_scv=None,
                cpu=None,
                queue=None,
            )
            for load in seen.operators
        ),
        threads=(),
        slots=tuple(replace(load, cpu=None, mem=None) for load in seen.slots),
        nodes=tuple(replace(load, cpu=None, mem=None) for load in seen.nodes),
        thread_traffic=None,
        slot_traffic=None,
        node_traffic=None,
        inter_slot_traffic=None,
        inter_node_traffic=None,
    )


def check(controller: Controller, situation: Situation) -> Decision | None:
    """Run the controller and check all that it promises; None: it raised a SlotwiseError."""
    try:
        decision = answer_to(controller.decide, situation)
    except SlotwiseError:
        return None
    check_decision(decision, situation)
    return decision


def check_decision(decision: Decision, situation: Situation) -> None:
    """It has a reason; and what it plans can be run, and is what it says."""
    assert decision.reason
    assert "\n" not in decision.reason
    assert math.isfinite(decision.pause_s)
    assert decision.pause_s >= 0
    if decision.plan is not None:
        assert decision.kind == kind_of(situation.plan, decision.plan)
        assert decision.cost_per_hour == decision.plan.cost_per_hour
        check_plan(decision.plan, situation)


def check_plan(plan: Plan, situation: Situation) -> None:
    """The same topology; every thread once in a slot that exists, and no more of an operator than
    it can have; machines that can be had, and no
    more than the budget allows.
    """
    before, topology = situation.plan, plan.pipeline.topology
    assert topology == before.pipeline.topology
    assert [entry.operator for entry in plan.allocation] == [o.name for o in topology.operators]
    assert plan.placement.threads == tuple(plan.allocation.threads.tolist())
    assert min(plan.placement.threads) >= 1
    for operator, threads in zip(topology.operators, plan.placement.threads, strict=True):
        assert threads <= (operator.most_threads or threads)
    assert plan.placement.slots.min() >= 0
    assert plan.placement.slots.max() < plan.cluster.slots
    assert all(plan.weights[entry.operator] for entry in plan.allocation)
    check_machines(plan.cluster, before.pipeline)
    budget = situation.goals.machines
    assert budget is None or plan.machines <= max(budget, before.machines)


def check_machines(cluster: Cluster, pipeline: Pipeline) -> None:
    """Those of the fixed cluster, or of types in the catalog."""
    if pipeline.cluster is not None:
        known = {node.name: node.slots for node in pipeline.cluster.nodes}
        assert all(node.slots <= known.get(node.name, 0) for node in cluster.nodes)
    else:
        types = {vm_type.name for vm_type in pipeline.catalog}
        assert all(node.type in types for node in cluster.nodes)
