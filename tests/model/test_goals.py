"""The one judgement of goals."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import slotwise
from slotwise.model import Goals, ModelError, Observation
from slotwise.simulation import simulate


@pytest.fixture(scope="module")
def seen() -> Observation:
    """The chain at 600/s: not saturated."""
    return simulate(slotwise.plan("chain", 600, allocator="lsa", placer="topology"), tuples=20_000)


def outcome(goals: Goals, seen: Observation) -> str:
    (verdict,) = goals.judge(seen)
    return verdict.outcome


def test_no_goals_no_verdicts(seen: Observation) -> None:
    assert Goals().judge(seen) == ()


@pytest.mark.parametrize(("rate", "expected"), [(500, "met"), (600, "met"), (700, "not tested")])
def test_a_rate_that_was_not_offered_is_not_tested(
    seen: Observation, rate: float, expected: str
) -> None:
    assert seen.capacity is None
    assert outcome(Goals(rate=rate), seen) == expected


@pytest.mark.parametrize(("rate", "expected"), [(590, "met"), (610, "met"), (620, "missed")])
def test_a_saturated_run_shows_its_capacity(seen: Observation, rate: float, expected: str) -> None:
    saturated = replace(seen, stable=False, capacity=600.0, throughput=600.0)
    assert outcome(Goals(rate=rate), saturated) == expected


def test_a_run_that_has_not_settled_tests_no_rate(seen: Observation) -> None:
    assert outcome(Goals(rate=500), replace(seen, stable=None)) == "not tested"


@pytest.mark.parametrize(
    "name", ["latency_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "sojourn_ms"]
)
def test_latencies(seen: Observation, name: str) -> None:
    value = getattr(seen, name)
    assert outcome(Goals(**{name: value}), seen) == "met"
    assert outcome(Goals(**{name: value / 1.01}), seen) == "met", "within the tolerance"
    assert outcome(Goals(**{name: value / 1.05}), seen) == "missed"
    assert outcome(Goals(**{name: 2 * value}), replace(seen, stable=False)) == "missed"
    assert outcome(Goals(**{name: value}), replace(seen, **{name: None})) == "not tested"
    assert outcome(Goals(**{name: value}), replace(seen, **{name: math.inf})) == "missed"


def test_machines_and_cost_are_exact(seen: Observation) -> None:
    assert outcome(Goals(machines=seen.machines), seen) == "met"
    assert outcome(Goals(machines=seen.machines - 1), seen) == "missed"
    priced = replace(seen, cost_per_hour=2.0)
    assert outcome(Goals(cost_per_hour=2.0), priced) == "met"
    assert outcome(Goals(cost_per_hour=1.99), priced) == "missed"


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_goal_is_a_number_above_zero(value: float) -> None:
    with pytest.raises(ModelError, match="invalid goal latency_p99_ms"):
        Goals(latency_p99_ms=value)
