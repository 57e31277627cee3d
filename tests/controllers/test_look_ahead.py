"""look-ahead on timelines of a simulated pipeline, and its forecasts on made-up rates."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.adaptation_history import History
from slotwise.controllers._forecast import Quiet, forecast
from slotwise.controllers._outlook import Outlook
from slotwise.controllers._present import Present
from slotwise.controllers._trial import MOST_VISITS, tried
from slotwise.controllers.base import Situation
from slotwise.controllers.look_ahead import LookAhead, _is_time
from slotwise.model import Change, Decision, Goals, Schedule, ServiceRate, missed
from slotwise.prediction import predict
from slotwise.simulation import Arrivals, Options, SimulatedDeployment
from slotwise.testing.controllers import check_plan
from tests.controllers.timelines import pipeline, plan_at, situation

PERIOD_S, DAY_S = 60.0, 86_400.0
RATE = 15.0
GOALS = Goals(rate=RATE, latency_p99_ms=4000.0, machines=12)
SLOW = {"work": ServiceRate(10.0), "out": ServiceRate(100.0)}
"""Tenfold slower than usual, so that an hour is soon simulated."""
MOST_RETURNS = 3
"""In an hour: after 5, 10 and 20 minutes of quiet, the fourth would take 40 more."""


def steps(schedule: Schedule, seconds: float, seed: int = 0) -> list[Step]:
    options = Options(arrivals=Arrivals(schedule=schedule), seed=seed)
    plan = plan_at(RATE, pipeline(GOALS, SLOW))
    deployment = SimulatedDeployment(plan, RATE, options, resolution_s=10.0)
    loop = Adaptation(deployment, LookAhead(), GOALS, Rules(period_s=PERIOD_S))
    return list(loop.steps(seconds))


def applied(made: list[Step]) -> list[Step]:
    return [step for step in made if step.outcome == "applied"]


def test_the_rate_doubles_and_the_goals_are_kept_again() -> None:
    made = steps(Schedule.stairs([1.0, 2.0], step_s=600.0), 1800.0)
    assert made[0].plan.threads["work"] == 2
    assert 4 <= made[-1].plan.threads["work"] <= 6
    assert len(applied(made)) == 1
    decision = applied(made)[0].decision
    assert decision is not None
    assert "work 2 → " in decision.reason
    assert "expected p99" in decision.reason
    last = [step.seen for step in made[-5:] if step.seen is not None]
    assert not any(missed(GOALS.judge(seen)) for seen in last)


def test_machines_are_given_back_when_they_have_not_been_needed_for_some_time() -> None:
    made = steps(Schedule.stairs([3.0, 0.5], step_s=1200.0), 4800.0)
    machines = [step.plan.machines for step in made]
    assert machines[-1] < max(machines)
    last = [step.seen for step in made[-5:] if step.seen is not None]
    assert not any(missed(GOALS.judge(seen)) for seen in last)


def returns(slots: list[int]) -> int:
    """How often more came after fewer."""
    changes = [after - before for before, after in pairwise(slots) if after != before]
    return sum(before < 0 < after for before, after in pairwise(changes))


def test_a_constant_rate_changes_nothing() -> None:
    assert applied(steps(Schedule.stairs([1.0], step_s=600.0), 2400.0)) == []


def test_changes_are_bounded_on_random_load_shapes() -> None:
    @settings(max_examples=2, deadline=None, derandomize=True)
    @given(st.lists(st.floats(0.1, 4.0), min_size=6, max_size=6), st.integers(0, 1000))
    def holds(shape: list[float], seed: int) -> None:
        whole = steps(Schedule.stairs(shape, step_s=300.0), 3600.0, seed)
        made = applied(whole)
        assert len(made) <= LookAhead().changes_per_hour
        assert returns([step.plan.slots for step in whole]) <= MOST_RETURNS
        for step in made:
            assert step.decision is not None
            assert step.decision.plan is not None
            assert step.seen is not None
            check_plan(step.decision.plan, Situation(step.plan, (step.seen,), GOALS, step.at_s))

    holds()


@pytest.mark.parametrize(
    ("offered", "is_time"), [([10.0] * 6, False), ([10.0] * 4 + [20.0] * 2, True)]
)
def test_trouble_at_a_higher_rate_is_another_one(offered: list[float], is_time: bool) -> None:
    """A goal that is missed in every period, by little say, does not hide a step."""
    seen = [SimpleNamespace(offered_rate=rate) for rate in offered]
    situation = SimpleNamespace(observations=seen, last=lambda seconds: seen)
    look: Any = SimpleNamespace(situation=situation, missed_lately=(True,) * len(seen))
    assert _is_time(look) is is_time


@pytest.mark.parametrize(
    ("rate", "planned", "helps"), [(170.0, 150.0, False), (250.0, 290.0, True)]
)
def test_another_plan_that_misses_goals_all_the_time_helps_only_against_overload(
    rate: float, planned: float, helps: bool
) -> None:
    """Without a latency to keep, a fifth of every thread is to be free: 85 % and 83 % are not."""
    made = situation(plan_at(), 60, goals=Goals(), rate=rate)
    look = Outlook(made, forecast(made.rates, made.period_s, 600.0, DAY_S))
    assert look.is_missed_often
    keep, other = look.kept(600.0), look.tried(plan_at(planned), 600.0, look.goals)
    assert keep.violation_s == pytest.approx(600.0)
    assert other.violation_s >= 600.0
    assert (keep.is_overloaded, other.is_overloaded) == (helps, False)
    assert LookAhead()._helps(look, keep, other) is helps


def test_a_trial_takes_so_many_tuples_whatever_the_rate() -> None:
    """90 million visits come within the horizon, and 60 million inputs wait."""
    rate, waiting = 50_000.0, {"in": 60e6}
    fast = {"work": ServiceRate(10_000.0), "out": ServiceRate(100_000.0)}
    plan = plan_at(80_000.0, pipeline(GOALS, fast))
    ahead = forecast([(60.0, rate)], 10.0, 600.0, DAY_S)
    found = tried(Present(plan, plan.pipeline, {}, waiting), plan, ahead, 600.0, GOALS)
    visits = sum(
        load.arrival_rate * ((window.end_s or 0.0) - (window.start_s or 0.0))
        for window in found.windows
        for load in window.operators
    )
    assert visits == pytest.approx(MOST_VISITS, rel=0.05)
    assert found.recovery_s == pytest.approx(60e6 / (predict(plan).capacity - rate))


@pytest.mark.parametrize("inputs", [0.0, 60e6], ids=["simulated", "as a fluid"])
def test_a_change_that_begins_later_takes_longer_to_recover(inputs: float) -> None:
    """Twice what the plan in effect handles is offered for 10 s more."""
    small, large = plan_at(150.0), plan_at(900.0)
    ahead = forecast([(10.0 * n, 300.0) for n in range(1, 7)], 10.0, 600.0, DAY_S)
    now = Present(small, small.pipeline, {}, {"in": inputs})
    at_once, later = (
        tried(now, large, ahead, 600.0, GOALS, pause_s=3.0, wait_s=wait_s) for wait_s in (0.0, 10.0)
    )
    spare = predict(large, 300.0).capacity - 300.0
    waiting = max(0.0, 300.0 - predict(small, 300.0).capacity) * 10.0
    if inputs:
        expected_s = 10.0 + waiting / spare
        assert later.recovery_s == pytest.approx(at_once.recovery_s + expected_s, abs=1e-6)
    else:
        assert later.recovery_s >= at_once.recovery_s + 10.0
        assert later.lasting_s == at_once.lasting_s == 0


def test_the_next_change_begins_as_long_after_the_decision_as_the_last() -> None:
    history, large = History(10.0), plan_at(350.0)
    decision = Decision.change(plan_at(), large, "why", 3.0)
    history.note(20.0, plan_at(), decision, Change(35.0, "restart", 4.0))
    assert history.situation(large, GOALS, 60.0).wait_s == 11.0
    history.note(60.0, large, decision, Change(64.0, "restart", 4.0))  # in simulation
    assert history.situation(large, GOALS, 90.0).wait_s == 0.0


def rates(of: list[float]) -> list[tuple[float, float]]:
    return [((n + 1) * PERIOD_S, rate) for n, rate in enumerate(of)]


def test_a_constant_rate_goes_on() -> None:
    found = forecast(rates([10.0] * 60), PERIOD_S, 600.0, DAY_S)
    assert found.method == "last value"
    assert found.expected == pytest.approx([10.0] * 10)
    assert found.high() == pytest.approx(10.0)


def test_a_rising_rate_rises_on() -> None:
    found = forecast(rates([10.0 + n for n in range(60)]), PERIOD_S, 600.0, DAY_S)
    assert found.method == "trend"
    assert found.expected[-1] == pytest.approx(79.0)


def test_a_day_is_like_the_last_one() -> None:
    """Every twenty minutes it is five times as much, for as long."""
    day = ([10.0] * 20 + [50.0] * 20) * 3
    found = forecast(rates(day[:98]), PERIOD_S, 600.0, 40 * PERIOD_S)
    assert found.method == "same time of the last period"
    assert found.expected == pytest.approx(day[98:108], rel=0.01)


def test_a_jump_is_not_settled_until_a_second_period_agrees() -> None:
    assert not forecast(rates([10.0] * 9 + [20.0]), PERIOD_S, 60.0, DAY_S).settled
    assert not forecast(rates([10.0, 10.0, 16.0, 20.0]), PERIOD_S, 60.0, DAY_S).settled
    settled = forecast(rates([10.0, 10.0, 16.0, 20.0, 20.0]), PERIOD_S, 60.0, DAY_S)
    assert (settled.settled, settled.expected) == (True, (20.0,))
    assert forecast(rates([10.0] * 9 + [20.0] * 2), PERIOD_S, 60.0, DAY_S).settled


def test_periods_that_were_not_observed_are_filled_in() -> None:
    gap = [(60.0, 10.0), (120.0, 10.0), (300.0, 10.0)]
    assert forecast(gap, PERIOD_S, 60.0, DAY_S).expected == (10.0,)


def test_how_long_quiet_times_last() -> None:
    """Quiet for 5 periods after loud ones that were 10 apart: another 5, or 5 by themselves."""
    past = rates([9.0, *[1.0] * 9, 9.0, *[1.0] * 5])
    found = Quiet.below(past, 2.0)
    assert found.so_far_s == 5 * PERIOD_S
    assert found.further_s == pytest.approx(5 * PERIOD_S)
