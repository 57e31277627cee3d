"""Sizing for a percentile at sinks, against queues whose quantiles are known."""

from __future__ import annotations

import math

import pytest

from slotwise.allocators.percentile import Percentile
from slotwise.model import (
    Allocation,
    Goals,
    Profiles,
    Refusal,
    ServiceRate,
    ThreadRow,
    ThreadTable,
)
from tests.builders import topology

ALONE = topology("in>a")


def profiles(**rates: float) -> Profiles:
    fast = {"in": ServiceRate(1e9)}
    return Profiles(fast | {name: ServiceRate(rate) for name, rate in rates.items()}, 1024.0)


def threads_of(answer: Allocation | Refusal) -> list[int]:
    assert isinstance(answer, Allocation)
    return answer.threads.tolist()


@pytest.mark.parametrize("p99_ms", [100.0, 150.0, 300.0, 1000.0])
def test_one_operator_gets_the_threads_that_m_m_1_needs(p99_ms: float) -> None:
    """The sojourn time of M/M/1 is exponential: its p99 is ln 100 / (μ - λ/k)."""
    goals = Goals(rate=90.0, latency_p99_ms=p99_ms)
    answer = Percentile(share=1.0).allocate(ALONE, profiles(a=50.0), 90.0, goals)
    needed = next(
        k for k in range(2, 100) if 1000 * math.log(100) / (50 - 90 / k) <= p99_ms * (1 + 1e-6)
    )
    assert threads_of(answer)[1] == needed


def test_a_mean_is_sized_for_like_a_percentile() -> None:
    goals = Goals(rate=90.0, latency_ms=40.0)
    answer = Percentile(share=1.0).allocate(ALONE, profiles(a=50.0), 90.0, goals)
    needed = next(k for k in range(2, 100) if 1000 / (50 - 90 / k) <= 40)
    assert threads_of(answer)[1] == needed


def test_the_tightest_of_several_goals_decides() -> None:
    both = Goals(rate=90.0, latency_ms=1000.0, latency_p99_ms=150.0)
    one = Goals(rate=90.0, latency_p99_ms=150.0)
    given = profiles(a=50.0)
    assert Percentile().allocate(ALONE, given, 90.0, both) == Percentile().allocate(
        ALONE, given, 90.0, one
    )


def test_the_rate_is_carried_and_the_latency_kept_at_the_goal() -> None:
    """Sized for more than the goal's rate, threads are needed for that rate only."""
    goals = Goals(rate=90.0, latency_p99_ms=1100.0)
    exact = threads_of(Percentile().allocate(ALONE, profiles(a=50.0), 90.0, goals))
    more = threads_of(Percentile().allocate(ALONE, profiles(a=50.0), 180.0, goals))
    assert exact[1] == 2
    assert more[1] == 4


def test_fewer_threads_in_a_slot_where_they_are_too_slow_together() -> None:
    table = ThreadTable((ThreadRow(1, 10.0, 0.2, 0.1), ThreadRow(4, 20.0, 0.9, 0.1)))
    given = Profiles({"in": ServiceRate(1e9), "a": table}, 1024.0)
    slow = Percentile().allocate(ALONE, given, 18.0, Goals(rate=18.0, latency_p99_ms=20_000))
    fast = Percentile().allocate(ALONE, given, 18.0, Goals(rate=18.0, latency_p99_ms=900))
    assert isinstance(slow, Allocation)
    assert isinstance(fast, Allocation)
    assert {bundle.threads for bundle in fast.operators[1].bundles} == {1}
    assert fast.slots >= slow.slots


def test_loops_and_branches_count_every_way_to_the_sinks() -> None:
    looped = topology("in>a", "a>b", "b>a:0.5!", "b>c")
    goals = Goals(rate=10.0, latency_p95_ms=400.0)
    given = profiles(a=50.0, b=50.0, c=50.0)
    straight = topology("in>a", "a>b", "b>c")
    assert sum(threads_of(Percentile().allocate(looped, given, 10.0, goals))) > sum(
        threads_of(Percentile().allocate(straight, given, 10.0, goals))
    )


def test_a_latency_below_the_service_times_is_refused() -> None:
    goals = Goals(rate=90.0, latency_p99_ms=50.0)
    answer = Percentile().allocate(ALONE, profiles(a=50.0), 90.0, goals)
    assert isinstance(answer, Refusal)
    assert answer.explanation.startswith("latency_p99_ms of 50 is out of reach: with any number")
    assert answer.final


def test_without_a_latency_goal_there_is_nothing_to_size_for() -> None:
    answer = Percentile().allocate(ALONE, profiles(a=50.0), 90.0, Goals(rate=90.0))
    assert isinstance(answer, Refusal)
    assert "needs a latency goal" in answer.explanation


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_share_outside_of_the_goal_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="invalid value"):
        Percentile(share=share)
