"""DRS against brute force, theory and its limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slotwise
from slotwise.allocators.drs import Drs, share_out
from slotwise.model import Allocation, Goals, Profiles, Refusal, ServiceRate
from slotwise.queueing import sojourn
from tests.builders import topology

queues = st.lists(
    st.tuples(st.floats(0.1, 6.0), st.floats(0.5, 2.0), st.floats(0.2, 2.0)),
    min_size=1,
    max_size=3,
)


def latency(queues: list[tuple[float, float, float]], servers: tuple[int, ...]) -> float:
    """Σ λ E[T]: the readable reference."""
    return sum(
        rate * sum(sojourn(k, rate, service, variation))
        for (rate, service, variation), k in zip(queues, servers, strict=True)
    )


def decide(queues: list[tuple[float, float, float]], **goal: float):
    rate, service, variation = (np.array(column) for column in zip(*queues, strict=True))
    return share_out(rate, service, variation, 1.0, **goal)


def splits(processors: int, operators: int):
    return (
        s
        for s in itertools.product(range(1, processors + 1), repeat=operators)
        if sum(s) == processors
    )


@settings(max_examples=60, deadline=None)
@given(queues, st.integers(0, 4))
def test_no_split_of_the_processors_is_faster(queues, spare: int) -> None:
    processors = sum(math.floor(r / s * (1 + 1e-12)) + 1 for r, s, _ in queues) + spare
    answer = decide(queues, processors=processors)
    assert not isinstance(answer, Refusal)
    servers, latency_ms = answer
    assert servers.sum() == processors
    best = min(latency(queues, split) for split in splits(processors, len(queues)))
    assert latency_ms / 1000 == pytest.approx(best)


@settings(max_examples=60, deadline=None)
@given(queues, st.floats(1.02, 3.0))
def test_no_fewer_processors_meet_the_bound(queues, slack: float) -> None:
    bound = slack * sum(rate / service for rate, service, _ in queues)
    answer = decide(queues, latency_ms=bound * 1000)
    assert not isinstance(answer, Refusal)
    servers, latency_ms = answer
    assert latency_ms / 1000 <= bound * (1 + 1e-9)
    fewer = int(servers.sum()) - 1
    assert all(latency(queues, split) > bound for split in splits(fewer, len(queues)))


def test_a_bound_met_exactly_is_met() -> None:
    exact = latency([(0.5, 1.0, 1.0)], (1,))
    answer = decide([(0.5, 1.0, 1.0)], latency_ms=exact * 1000)
    assert not isinstance(answer, Refusal)
    assert answer[0].tolist() == [1]


def test_a_whole_load_needs_one_processor_more() -> None:
    answer = decide([(3.0, 1.0, 1.0)], processors=3)
    assert isinstance(answer, Refusal)
    assert "at least 4" in answer.reason


def test_one_processor_is_m_m_1() -> None:
    answer = decide([(0.5, 2.0, 1.0)], processors=1)
    assert not isinstance(answer, Refusal)
    assert answer[1] == pytest.approx(1000 * 0.5 / (2.0 - 0.5))


def test_a_latency_below_the_service_times_is_refused_at_once() -> None:
    answer = decide([(1.0, 1.0, 1.0), (1.0, 2.0, 1.0)], latency_ms=1499.0)
    assert isinstance(answer, Refusal)
    assert answer.resource == "latency"
    assert answer.missing == pytest.approx(1.0)


def test_a_huge_first_wait_does_not_drown_the_bound() -> None:
    # λ/μ is a hair below 2: with 2 servers the wait is astronomical.
    answer = decide([(2 - 1e-13, 1.0, 1.0), (1.0, 2.0, 1.0)], latency_ms=3000.0)
    assert not isinstance(answer, Refusal)
    assert answer[1] <= 3000.0


def test_without_a_goal_it_says_what_it_needs() -> None:
    pipeline = slotwise.load("linear")
    answer = Drs().allocate(pipeline.topology, pipeline.profiles, 100.0, Goals())
    assert isinstance(answer, Refusal)
    assert "latency_ms" in answer.reason
    assert "processors" in answer.reason


def test_its_own_options_come_before_the_goal() -> None:
    """Goals answer as the option latency_ms does, the sojourn time first; any option beats them."""
    pipeline = slotwise.load("loop")

    def threads(drs: Drs, goal_ms: float | None, sojourn_ms: float | None = None) -> list[int]:
        goals = Goals(latency_ms=goal_ms, sojourn_ms=sojourn_ms)
        answer = drs.allocate(pipeline.topology, pipeline.profiles, 320.0, goals)
        assert isinstance(answer, Allocation)
        return [entry.threads for entry in answer]

    by_goal = threads(Drs(), 60.0)
    assert by_goal == threads(Drs(latency_ms=60.0), None)
    assert threads(Drs(), 45.0, sojourn_ms=60.0) == by_goal
    assert threads(Drs(latency_ms=45.0), 60.0, 60.0) == threads(Drs(), 45.0) != by_goal
    assert threads(Drs(processors=60), 60.0) == threads(Drs(processors=60), None) != by_goal


def test_a_latency_that_a_million_processors_do_not_reach_is_refused() -> None:
    """999,999.5 busy ones wait 2 s for the last: the mean is 3 s, with one more a third of that."""
    queue = [(999_999.5, 1.0, 1.0)]
    answer = decide(queue, latency_ms=2000.0 * 999_999.5)
    assert isinstance(answer, Refusal)
    assert "needs more processors than the limit of 1,000,000 threads in a plan" in answer.reason
    assert answer.missing is not None
    assert answer.missing > 0
    assert not isinstance(decide(queue, latency_ms=4000.0 * 999_999.5), Refusal)


def test_less_variation_needs_no_more_processors() -> None:
    def threads(scv: float) -> int:
        profiles = Profiles(
            {"in": ServiceRate(1e6), "a": ServiceRate(10.0, arrival_scv=scv, service_scv=scv)},
            1024.0,
        )
        answer = Drs(latency_ms=105.0).allocate(topology("in>a"), profiles, 100.0, Goals())
        assert isinstance(answer, Allocation)
        return answer.operators[1].threads

    assert threads(0.1) < threads(1.0) < threads(4.0)
