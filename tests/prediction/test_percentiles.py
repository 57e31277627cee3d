"""Percentiles of latencies whose distribution is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from slotwise.keys import NUMBER, keys_of_threads
from slotwise.model import (
    FixedLoad,
    Grouping,
    NetworkDelays,
    Node,
    Operator,
    Plan,
    Prediction,
    ServiceRate,
    Stream,
    Topology,
)
from slotwise.prediction import predict
from tests.builders import cluster, topology
from tests.simulation.builders import plan


def percentiles(of: Plan, rate: float) -> list[float]:
    """In seconds."""
    found: Prediction = predict(of, rate)
    return [
        figure / 1000
        for figure in (found.latency_p50_ms, found.latency_p95_ms, found.latency_p99_ms)
        if figure is not None
    ]


def quantiles(late: Callable[[float], float]) -> list[float]:
    """Where a probability of being later has fallen to 0.5, 0.05 and 0.01."""
    return [brentq(lambda t, part=part: late(t) - part, 0, 20) for part in (0.5, 0.05, 0.01)]


def test_m_m_1_is_exponential() -> None:
    found = percentiles(plan(topology("a>b"), {"b": 1.0}), 0.8)
    assert found == pytest.approx([-math.log(part) / 0.2 for part in (0.5, 0.05, 0.01)], rel=1e-3)


def test_a_tandem_is_hypoexponential() -> None:
    found = percentiles(plan(topology("a>b", "b>c"), {"b": 1.0, "c": 2.0}), 0.5)
    fast, slow = 1.5, 0.5

    def late(t: float) -> float:
        return (fast * math.exp(-slow * t) - slow * math.exp(-fast * t)) / (fast - slow)

    assert found == pytest.approx(quantiles(late), rel=1e-3)


def test_sinks_mix_by_their_tuples() -> None:
    """Three of four tuples go to the fast sink."""
    of = topology("a>b:3", "a>c:1")
    fast = plan(of, {"b": 40.0, "c": 0.5})
    found = predict(fast, 0.1)
    loads = {load.operator: load for load in found.operators}
    slow_s = (loads["c"].waiting_ms + loads["c"].service_ms) / 1000
    # What is late is at c: one in four, exponential there.
    assert found.latency_p99_ms / 1000 == pytest.approx(slow_s * math.log(25), rel=0.02)


def test_rounds_of_a_loop_add_up() -> None:
    """A tuple is served again with probability 1/2: a geometric sum of exponential times is one."""
    of = topology("a>b", "b>b:0.5!", "b>c:0.5")
    found = percentiles(plan(of, {"b": 100.0}), 0.01)
    assert found == pytest.approx([-0.02 * math.log(part) for part in (0.5, 0.05, 0.01)], rel=0.03)


def test_even_services_make_steps() -> None:
    even = ServiceRate(1.0, cpu=0.0, service_scv=0.0)
    found = percentiles(plan(topology("a>b"), {"b": even}), 0.7)

    def late(t: float) -> float:
        """M/D/1, by Erlang: the wait is over one service shorter."""
        wait, reached = t - 1, 0.0
        for k in range(max(0, math.floor(wait)) + 1):
            passed = 0.7 * (wait - k)
            reached += (-passed) ** k / math.factorial(k) * math.exp(passed)
        return 1 - 0.3 * reached if wait >= 0 else 1.0

    assert found == pytest.approx(quantiles(late), rel=0.05)


def test_where_nothing_takes_time_all_are_as_late() -> None:
    delays = NetworkDelays(3.0, 3.0, 3.0, 3.0)
    assert percentiles(plan(topology("a>b"), {}, delays=delays), 1.0) == [0.003] * 3


def test_many_kinds_of_threads_are_put_together_by_their_time() -> None:
    """40 threads with as many different shares: the exact mixture of exponential times."""
    streams = (Stream("a", "b", grouping=Grouping("fields", ("k",))),)
    of = Topology("keyed", (Operator("a", "source"), Operator("b")), streams)
    found = percentiles(plan(of, {"b": 1.0}, {"b": 40}), 20.0)
    share = keys_of_threads(40) / NUMBER
    spare = 1 - 20.0 * share
    expected = quantiles(lambda t: float(share @ np.exp(-spare * t)))
    assert found == pytest.approx(expected, rel=0.01)


def test_threads_that_get_no_tuples_do_not_count() -> None:
    """One of two slots is too slow even for the source; the weights leave its thread of b out."""
    streams = (Stream("a", "b", grouping=Grouping("weighted")),)
    of = Topology("weighted", (Operator("a", "source"), Operator("b")), streams)
    two = replace(cluster(2, 1), nodes=(Node("slow", 1, 3.5, speed=1e-9), Node("fast", 1, 3.5)))
    made = plan(
        of,
        {"a": FixedLoad(1, cpu=0.1), "b": 1.0},
        {"b": 2},
        cluster=two,
        slots=[0, 0, 1],
        weights={"b": (0.0, 1.0)},
    )
    found = percentiles(made, 0.8)
    assert found == pytest.approx([-math.log(part) / 0.2 for part in (0.5, 0.05, 0.01)], rel=1e-3)


def test_a_batch_that_takes_next_to_no_time_beside_the_rest() -> None:
    through = plan(topology("a>b:3", "b>c"), {"b": 1e12, "c": 1e-6})
    straight = plan(topology("a>c:3"), {"c": 1e-6})
    assert percentiles(through, 1e-7) == pytest.approx(percentiles(straight, 1e-7), rel=1e-3)
