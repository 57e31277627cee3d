"""Beliefs that are wrong come right by what a simulation shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from slotwise.learning import Learned, learned
from slotwise.model import (
    Choice,
    FixedLoad,
    Hop,
    Observation,
    Pipeline,
    Plan,
    Platform,
    Profile,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.model.profile import form_of
from slotwise.simulation import Options, ServiceTimes, SimulatedDeployment
from slotwise.testing.controllers import without_what_may_be_unknown
from tests.controllers.timelines import pipeline, plan_at, seen

EXACT = Options(service=ServiceTimes("deterministic"))
WRONG = {"work": ServiceRate(250.0, cpu=0.8, service_scv=0.3)}


def windows(plan: Plan, options: Options = EXACT, periods: int = 3) -> list[Observation]:
    """What the plan does, in windows of 10 s."""
    at_work, found = SimulatedDeployment(plan, options=options), []
    for _ in range(periods):
        at_work.advance(10.0)
        found.append(at_work.observe(10.0))
    return found


def believing(plan: Plan, profiles: Mapping[str, Profile]) -> Plan:
    """The plan of somebody who takes the operators for something else."""
    own = plan.pipeline.profiles
    wrong = replace(own, by_operator={**own.by_operator, **profiles})
    return replace(plan, pipeline=replace(plan.pipeline, profiles=wrong))


def taught(truth: Pipeline, beliefs: Mapping[str, Profile], options: Options = EXACT) -> Learned:
    plan = plan_at(110.0, truth)
    return learned(believing(plan, beliefs), windows(plan, options))


def test_a_service_rate_is_found_out() -> None:
    truth = pipeline(profiles={"work": ServiceRate(100.0, cpu=0.4, mem=0.2)})
    found = form_of(taught(truth, WRONG).profiles["work"], ServiceRate)
    assert found is not None
    assert found.rate == pytest.approx(100.0)
    assert found.cpu == pytest.approx(0.4)
    assert found.service_scv == pytest.approx(0.0, abs=1e-9)


def test_how_much_service_times_vary_is_found_out() -> None:
    truth = pipeline(profiles={"work": ServiceRate(100.0, service_scv=0.25)})
    found = form_of(taught(truth, WRONG, Options()).profiles["work"], ServiceRate)
    assert found is not None
    assert found.service_scv == pytest.approx(0.25, rel=0.15)
    assert found.rate == pytest.approx(100.0, rel=0.05)


def test_a_table_is_scaled_at_the_threads_that_share_a_slot() -> None:
    table = ThreadTable((ThreadRow(1, 20.0, 0.2, 0.1), ThreadRow(4, 50.0, 0.9, 0.2)))
    twice = ThreadTable(tuple(replace(row, rate=2 * row.rate) for row in table.rows))
    given = pipeline(profiles={"work": table})
    truth = replace(given, scheduler=replace(given.scheduler, allocator=Choice("mba")))
    found = form_of(taught(truth, {"work": twice}).profiles["work"], ThreadTable)
    assert found is not None
    assert [row.rate for row in found.rows] == pytest.approx([20.0, 50.0], rel=1e-3)
    assert [row.cpu for row in found.rows] == pytest.approx([0.2, 0.9], rel=1e-3)


def test_task_costs_are_found_out() -> None:
    truth = pipeline(profiles={"work": TaskCosts(cpu_points=1.0, sojourn_ms=12.0)})
    found = form_of(taught(truth, {"work": TaskCosts(0.5)}).profiles["work"], TaskCosts)
    assert found is not None
    assert found.cpu_points == pytest.approx(1.0)
    assert found.sojourn_ms == pytest.approx(12.0)


def test_the_platforms_hops_are_not_the_operators_work() -> None:
    hop = Hop(send_us=300.0, receive_us=500.0)
    platform = Platform(in_slot=hop, in_node=hop, between_nodes=hop)
    truth = replace(pipeline(profiles={"work": ServiceRate(100.0, cpu=0.4)}), platform=platform)
    found = form_of(taught(truth, WRONG).profiles["work"], ServiceRate)
    assert found is not None
    assert found.rate == pytest.approx(100.0, rel=0.02)
    assert found.cpu == pytest.approx(0.4, rel=0.02)


def test_waiting_for_cpu_is_not_the_operators_time() -> None:
    """Two busy threads in one slot take twice as long each."""
    plan = plan_at(150.0)
    first = plan.allocation.first_thread[1]
    slots = plan.placement.slots.copy()
    slots[first : first + 2] = slots[first]
    crowded = replace(plan, placement=replace(plan.placement, slots=slots))
    seen_there = windows(crowded)
    assert seen_there[-1].operators[1].service_ms == pytest.approx(20.0, rel=0.05)
    found = form_of(learned(crowded, seen_there).profiles["work"], ServiceRate)
    assert found is not None
    assert found.rate == pytest.approx(100.0, rel=0.02)


def test_a_slow_node_is_not_a_slow_operator() -> None:
    given = pipeline(profiles={"work": ServiceRate(100.0, cpu=0.4)}, nodes=4)
    assert given.cluster is not None
    nodes = tuple(replace(node, speed=0.5) for node in given.cluster.nodes)
    truth = replace(given, cluster=replace(given.cluster, nodes=nodes))
    plan = plan_at(80.0, truth)
    seen_there = windows(plan)
    assert seen_there[-1].operators[1].service_ms == pytest.approx(20.0, rel=0.05)
    found = form_of(learned(plan, seen_there).profiles["work"], ServiceRate)
    assert found is not None
    assert found.rate == pytest.approx(100.0, rel=0.02)


def test_selectivities_are_for_planning() -> None:
    truth = pipeline()
    plan = plan_at(150.0, truth)
    streams = tuple(replace(stream, selectivity=0.5) for stream in truth.topology.streams)
    halved = replace(truth, topology=replace(truth.topology, streams=streams))
    found = learned(plan, windows(replace(plan, pipeline=halved)))
    assert found.selectivities == (pytest.approx(0.5, rel=0.05), pytest.approx(0.5, rel=0.1))
    measured = found.of(truth)
    assert [stream.selectivity for stream in measured.topology.streams] == [*found.selectivities]


def test_later_windows_count_more() -> None:
    plan = plan_at()
    slower = [seen(plan, end_s=10.0), seen(plan, end_s=20.0, service_ms=20.0)]

    def measured_ms(smoothing: float) -> float:
        return learned(plan, slower, smoothing).lessons["work"].service_ms

    assert measured_ms(1.0) == pytest.approx(15.0)
    assert measured_ms(0.5) == pytest.approx((0.5 * 10 + 20) / 1.5)
    assert measured_ms(0.0) == pytest.approx(20.0)


@pytest.mark.parametrize("periods", [0, 3])
def test_what_is_not_measured_stays(periods: int) -> None:
    plan = plan_at()
    blind: Sequence[Observation] = [
        without_what_may_be_unknown(each) for each in windows(plan, periods=max(periods, 1))
    ]
    if not periods:  # a window in which next to nothing came
        load = replace(seen(plan).operators[1], arrival_rate=1.0)
        blind = [replace(seen(plan), operators=(load, load, load))]
    found = learned(plan, blind)
    assert found.profiles == plan.pipeline.profiles
    assert found.lessons == {}


def test_fixed_loads_stay() -> None:
    assert taught(pipeline(), WRONG).profiles["in"] == FixedLoad(cpu=0.1)
