"""P-Deployer's rounds: what it learns, when it stops, and what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slotwise.controllers.base import Situation
from slotwise.controllers.p_deployer import PDeployer
from slotwise.model import Change, Choice, Decision, Goals, Plan, Scheduler, TaskCosts, ThreadLoad
from slotwise.planner import Request, plan_with
from tests.controllers.timelines import pipeline, seen

SCHEDULER = Scheduler(Choice("p-deployer"), Choice("largest-first"), Choice("p-deployer"))
GOALS = Goals(rate=150.0, latency_ms=100.0, machines=4)


def plan_for(goals: Goals = GOALS) -> Plan:
    """One thread of `work` handles 100/s: 10 ms, all of it CPU."""
    given = pipeline(goals, {"work": TaskCosts(1.0), "out": TaskCosts(0.1)})
    given = replace(given, scheduler=SCHEDULER)
    return plan_with(Request(given, goals.rate or 0.0, SCHEDULER))


def situation(
    plan: Plan,
    changes: int = 0,
    periods: int = 6,
    latencies_ms: Any = None,
    goals: Goals | None = None,
    **figures: Any,
) -> Situation:
    """Equal periods, but for their latencies."""
    usual = {"latency_ms": 20.0, "stable": True, **figures}
    observations = tuple(
        seen(plan, **{**usual, "end_s": 10.0 * (n + 1)} | latency(latencies_ms, n))
        for n in range(periods)
    )
    made = tuple(Change(10.0 * n, "restart", 3.0) for n in range(changes))
    return Situation(plan, observations, goals or plan.pipeline.goals, 600.0, changes=made)


def latency(latencies_ms: Any, period: int) -> dict[str, float]:
    return {} if latencies_ms is None else {"latency_ms": latencies_ms[period]}


def asked(operator: str, utilisation: float) -> ThreadLoad:
    """A thread that is asked for so many seconds of work per second."""
    return ThreadLoad(operator, 0, "m-1/0", 75.0, utilisation)


def decide(plan: Plan, **given: Any) -> Decision:
    return PDeployer().decide(situation(plan, **given))


def test_a_target_that_holds_ends_the_rounds() -> None:
    decision = decide(plan_for(), changes=2)
    assert decision.kind == "keep"
    assert decision.reason == "round 3: 150 of 150/s in 20 ms, the target holds"


def test_what_was_measured_goes_into_the_profile_and_the_next_plan() -> None:
    plan = plan_for()
    assert plan.threads["work"] == 2
    short = {"throughput": 110.0, "service_ms": 18.0, "busy": 1.0, "stable": False}
    decision = decide(plan, **short)
    assert decision.plan is not None
    costs = decision.plan.pipeline.profiles["work"]
    assert isinstance(costs, TaskCosts)
    assert costs.sojourn_ms == pytest.approx(18.0)
    assert decision.plan.threads["work"] == 3  # 150 · 18 ms
    assert decision.reason == (
        "round 1: 110 of 150/s in 20 ms; work takes 18 ms and not 10; work is 100% busy; "
        "work raised by 10%: work 2 → 3 threads on 1 node, pause 3 s"
    )


def test_an_operator_that_falls_short_with_the_right_profile_is_raised() -> None:
    """By 10 %, or by what its busiest thread is asked for."""
    short = {"throughput": 130.0, "busy": 1.0, "stable": False}
    for threads, expected in (((), 1.1), ((asked("work", 1.2),), 1.2)):
        decision = decide(plan_for(), **short, threads=threads)
        assert decision.plan is not None
        raised = decision.plan.pipeline.profiles["work"]
        assert isinstance(raised, TaskCosts)
        assert raised.cpu_points == pytest.approx(expected)


def test_profiles_are_never_lowered() -> None:
    plan = plan_for()
    decision = decide(plan, throughput=110.0, service_ms=5.0, busy=1.0, stable=False)
    assert decision.plan is not None
    assert decision.plan.pipeline.profiles["out"] == plan.pipeline.profiles["out"]
    raised = decision.plan.pipeline.profiles["work"]
    assert isinstance(raised, TaskCosts)
    assert raised.cpu_points >= 1.1 * (1 - 1e-9)


def test_the_budget_ends_the_rounds() -> None:
    """1.4 · 1.5 slots, and what the others take, are more than a machine has."""
    plan = plan_for(replace(GOALS, machines=1))
    threads = (asked("work", 1.4),)
    decision = decide(plan, throughput=100.0, busy=1.0, stable=False, threads=threads)
    assert decision.kind == "keep"
    assert decision.reason == (
        "round 1: 100 of 150/s in 20 ms, and the target is out of reach: "
        "planner: 2 machines are needed, the budget is 1"
    )


def test_a_backlog_of_earlier_rounds_is_waited_for() -> None:
    falling = [4000.0, 3500.0, 3000.0, 2500.0, 2000.0, 1500.0]
    decision = decide(plan_for(), latencies_ms=falling, throughput=190.0)
    assert decision.kind == "keep"
    assert "worked off" in decision.reason
    rising = falling[::-1]
    assert decide(plan_for(), latencies_ms=rising, throughput=150.0).kind != "keep"


def test_latency_that_threads_do_not_cause() -> None:
    decision = decide(plan_for(), latency_ms=200.0, busy=0.1)
    assert decision.kind == "keep"
    assert "more threads do not help: out is 15% busy" in decision.reason


def test_less_than_the_target_is_offered() -> None:
    assert "the target holds" in decide(plan_for(), rate=60.0).reason


def test_a_backlog_at_a_low_rate_gives_no_threads_back() -> None:
    plan = plan_for(replace(GOALS, rate=350.0))
    decision = PDeployer().decide(
        situation(plan, goals=replace(GOALS, rate=None), rate=80.0, busy=1.0, stable=False)
    )
    assert decision.plan is not None
    assert decision.plan.rate == 350.0
    assert decision.plan.threads["work"] >= plan.threads["work"]


def test_waits_for_a_whole_round() -> None:
    assert decide(plan_for(), periods=5, stable=False).kind == "keep"
