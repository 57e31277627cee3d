"""Simulated percentiles against distributions that are known: M/M/1, M/D/1, two M/M/1 in a row.

Eight runs with different seeds tell how far one may be off by chance; their mean is within four of
its standard errors, and the sketch's resolution, of the exact figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

from slotwise.model import Plan
from slotwise.simulation import ServiceTimes, simulate
from tests.builders import topology
from tests.simulation.builders import plan

SEEDS = 8
RESOLUTION = 0.004
"""The middle of a bucket is within this part of everything in it."""


def assert_percentiles(
    of: Plan, rate: float, late: Callable[[float], float], service: ServiceTimes, tuples: int
) -> None:
    """`late(t)` is the probability that a tuple is at its sink later than t seconds."""
    exact = [brentq(lambda t, q=q: late(t) - 1 + q, 0, 100) for q in (0.50, 0.95, 0.99)]
    runs = [simulate(of, rate, service=service, tuples=tuples, seed=seed) for seed in range(SEEDS)]
    found = [(r.latency_p50_ms, r.latency_p95_ms, r.latency_p99_ms) for r in runs]
    seconds = np.array(found, dtype=np.float64) / 1000
    error = seconds.std(axis=0, ddof=1) / math.sqrt(SEEDS)
    assert np.all(error < 0.01 * np.array(exact)), "the runs are too short to tell"
    assert np.all(np.abs(seconds.mean(axis=0) - exact) <= 4 * error + RESOLUTION * np.array(exact))


@pytest.mark.parametrize(("load", "tuples"), [(0.5, 300_000), (0.8, 3_000_000)])
def test_m_m_1(load: float, tuples: int) -> None:
    assert_percentiles(
        plan(topology("a>b"), {"b": 1.0}),
        load,
        lambda t: math.exp(-(1 - load) * t),
        ServiceTimes("exponential"),
        tuples,
    )


def test_m_d_1() -> None:
    load = 0.7

    def late(t: float) -> float:
        """Erlang's series for the wait, and a service of 1 s. It is exact for short waits only: its
        terms grow and cancel out.
        """
        wait = min(t - 1, 25.0)
        if wait < 0:
            return 1.0
        passed = [load * (wait - k) for k in range(math.floor(wait) + 1)]
        terms = ((-x) ** k / math.factorial(k) * math.exp(x) for k, x in enumerate(passed))
        return 1 - (1 - load) * math.fsum(terms)

    of = plan(topology("a>b"), {"b": 1.0})
    assert_percentiles(of, load, late, ServiceTimes("deterministic"), 300_000)


def test_two_m_m_1_in_a_row() -> None:
    of = plan(topology("a>b", "b>c"), {"b": 1.0, "c": 1.25})
    first, second = 1.0 - 0.6, 1.25 - 0.6

    def late(t: float) -> float:
        weight = second / (second - first)
        return weight * math.exp(-first * t) + (1 - weight) * math.exp(-second * t)

    assert_percentiles(of, 0.6, late, ServiceTimes("exponential"), 300_000)


def test_two_equal_m_m_1_in_a_row_are_erlang() -> None:
    of = plan(topology("a>b", "b>c"), {"b": 1.0, "c": 1.0})
    spare = 1 - 0.7
    assert_percentiles(
        of,
        0.7,
        lambda t: (1 + spare * t) * math.exp(-spare * t),
        ServiceTimes("exponential"),
        300_000,
    )
