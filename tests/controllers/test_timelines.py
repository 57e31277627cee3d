"""Controllers over simulated hours: they follow the load, settle when it does, and never flap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.controllers.base import Controller, Situation
from slotwise.controllers.drs import Drs
from slotwise.controllers.flink import Flink
from slotwise.controllers.model_driven import ModelDriven
from slotwise.controllers.p_deployer import PDeployer
from slotwise.controllers.threshold import Threshold
from slotwise.controllers.traffic import TrafficBased
from slotwise.model import (
    Choice,
    FixedLoad,
    Goals,
    Pipeline,
    Plan,
    Profiles,
    Schedule,
    Scheduler,
    ServiceRate,
    missed,
)
from slotwise.planner import Request, plan_with
from slotwise.simulation import Arrivals, Options, SimulatedDeployment
from slotwise.testing.controllers import check_plan
from tests.builders import cluster, topology
from tests.controllers.timelines import pipeline, plan_at

PERIOD_S = 120.0
RATE = 15.0
GOALS = Goals(rate=RATE, sojourn_ms=300.0, machines=12)
SHAPE_S, STEP_S = 1800.0, 300.0
"""So long the load changes, each of its steps."""
SETTLING_S, END_S = 4200.0, 5400.0
"""After that it stays; from when on nothing must change any more."""
CONTROLLERS: tuple[Controller, ...] = (Drs(), PDeployer())
RESTLESS: tuple[Controller, ...] = (
    Flink(window_s=240.0, scale_down_s=480.0),
    ModelDriven(band=0.1),
    Threshold(above=0.6, below=0.5),
)
"""Controllers without a limit of their own, with options that let them change often."""


def plan() -> Plan:
    """Tenfold slower than usual, so that an hour is soon simulated: `work` 10/s per thread."""
    slow = {"work": ServiceRate(10.0), "out": ServiceRate(100.0)}
    return plan_at(RATE, pipeline(GOALS, slow))


def steps(controller: Controller, schedule: Schedule, seconds: float, seed: int = 0) -> list[Step]:
    options = Options(arrivals=Arrivals(schedule=schedule), seed=seed)
    deployment = SimulatedDeployment(plan(), RATE, options, resolution_s=10.0)
    loop = Adaptation(deployment, controller, GOALS, Rules(period_s=PERIOD_S))
    return list(loop.steps(seconds))


def applied(made: list[Step]) -> list[Step]:
    return [step for step in made if step.outcome == "applied"]


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda each: each.name)
def test_the_load_doubles_twice_and_the_goals_are_kept_again(controller: Controller) -> None:
    schedule = Schedule.stairs([1.0, 2.0, 4.0], step_s=1200.0)
    goals = replace(GOALS, rate=None)  # all that is offered
    options = Options(arrivals=Arrivals(schedule=schedule))
    deployment = SimulatedDeployment(plan(), RATE, options, resolution_s=10.0)
    made = list(Adaptation(deployment, controller, goals, Rules(period_s=PERIOD_S)).steps(4800.0))
    assert deployment.plan.threads["work"] >= 7
    last = [step.seen for step in made[-3:] if step.seen is not None]
    assert not any(missed(goals.judge(seen)) for seen in last)


def test_drs_follows_the_load_down_again() -> None:
    made = steps(Drs(), Schedule.stairs([1.0, 4.0, 0.5], step_s=2400.0), 7200.0)
    machines = [step.plan.machines for step in made]
    assert max(machines) > machines[0]
    assert machines[-1] < max(machines)


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda each: each.name)
def test_nothing_flaps_on_random_load_shapes(controller: Controller) -> None:
    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(
        st.lists(st.floats(0.1, 4.0), min_size=6, max_size=6),
        st.floats(0.2, 3.0),
        st.integers(0, 1000),
    )
    def holds(shape: list[float], then: float, seed: int) -> None:
        schedule = Schedule.stairs([*shape, then], step_s=STEP_S)
        made = steps(controller, schedule, END_S, seed)
        changes = [step.change.at_s for step in applied(made) if step.change is not None]
        # A load on the border between two sizes may be seen to be below it late, once.
        assert len([at_s for at_s in changes if at_s > SETTLING_S]) <= 1
        assert reversals([step.plan.slots for step in made]) <= reversals([1.0, *shape, then])
        for step in applied(made):
            check(step)
        if isinstance(controller, Drs):
            check_cool_down(controller, applied(made))

    holds()


@pytest.mark.parametrize("controller", RESTLESS, ids=lambda each: each.name)
def test_no_more_changes_than_allowed_in_any_hour_on_random_load_shapes(
    controller: Controller,
) -> None:
    @settings(max_examples=2, deadline=None, derandomize=True)
    @given(st.lists(st.floats(0.1, 4.0), min_size=12, max_size=12), st.integers(0, 1000))
    def holds(shape: list[float], seed: int) -> None:
        options = Options(arrivals=Arrivals(schedule=Schedule.stairs(shape, STEP_S)), seed=seed)
        deployment = SimulatedDeployment(plan(), RATE, options, resolution_s=10.0)
        rules = Rules(period_s=PERIOD_S, changes_per_hour=4)
        every = list(Adaptation(deployment, controller, GOALS, rules).steps(END_S))
        assert reversals([step.plan.slots for step in every]) <= reversals([1.0, *shape])
        made = applied(every)
        times_s = [step.change.at_s for step in made if step.change is not None]
        assert all(later - first > 3600 for first, later in zip(times_s, times_s[4:], strict=False))
        for step in made:
            check(step)
        changed.append(len(made))

    changed: list[int] = []
    holds()
    assert any(changed)


def reversals(figures: Sequence[float]) -> int:
    """How often they rose after they had fallen, or fell after they had risen."""
    moves = [later > earlier for earlier, later in pairwise(figures) if later != earlier]
    return sum(one != other for one, other in pairwise(moves))


def test_traffic_moves_threads_and_never_back_on_random_load_shapes() -> None:
    """The load of all threads rises and falls alike: better places stay better."""
    light = ServiceRate(10.0, cpu=0.2, mem=0.02)
    scheduler = Scheduler(Choice("lsa"), Choice("largest-first"), Choice("round-robin"))
    chain = Pipeline(
        topology("in>a", "a>b", "b>out"),
        Profiles({"in": FixedLoad(cpu=0.05), "a": light, "b": light, "out": light}, 3584.0),
        cluster=cluster(4, 2),
        goals=GOALS,
        scheduler=scheduler,
    )
    scattered = plan_with(Request(chain, 60.0, scheduler))
    controller = TrafficBased(gain=0.05, period_s=PERIOD_S, overload=0.2, seconds=PERIOD_S)

    @settings(max_examples=3, deadline=None, derandomize=True)
    @given(st.lists(st.floats(0.1, 4.0), min_size=12, max_size=12), st.integers(0, 1000))
    def holds(shape: list[float], seed: int) -> None:
        options = Options(arrivals=Arrivals(schedule=Schedule.stairs(shape, STEP_S)), seed=seed)
        deployment = SimulatedDeployment(scattered, RATE, options, resolution_s=10.0)
        made = list(Adaptation(deployment, controller, GOALS, Rules(PERIOD_S)).steps(END_S))
        changed = applied(made)
        assert 1 <= len(changed) <= 6
        assert {step.decision.kind for step in changed if step.decision} == {"re-place"}
        placed = {step.plan.placement.slots.tobytes() for step in made}
        assert len(placed) == len(changed) + 1  # never where they were before
        for step in applied(made):
            check(step)

    holds()


def check(step: Step) -> None:
    """A plan that can be run, within the budget."""
    assert step.decision is not None
    assert step.decision.plan is not None
    assert step.seen is not None
    check_plan(step.decision.plan, Situation(step.plan, (step.seen,), GOALS, step.at_s))


def check_cool_down(controller: Drs, made: list[Step]) -> None:
    for earlier, later in pairwise(made):
        assert earlier.change is not None
        since_s = later.at_s - earlier.change.at_s
        assert since_s >= controller.cool_down_s
        assert later.decision is not None
        assert later.decision.plan is not None
        if later.decision.plan.machines < later.plan.machines:
            assert since_s >= controller.give_back_s
