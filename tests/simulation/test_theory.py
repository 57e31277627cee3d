"""Queues whose means are known: within 1 %, each run long enough that its own 95 % confidence
interval (batch means) is about that wide or less.
"""

from __future__ import annotations

import pytest

from slotwise.model import Observation, ServiceRate
from slotwise.queueing import sojourn
from slotwise.simulation import Arrivals, Routing, ServiceTimes, simulate
from tests.builders import topology
from tests.simulation.builders import plan

SHARED = Routing(queue="shared")


def waiting_s(observation: Observation, operator: str) -> float:
    load = next(load for load in observation.operators if load.operator == operator)
    return load.waiting_ms / 1000


def assert_within_one_percent(observation: Observation, expected_s: float) -> None:
    assert observation.sojourn_margin_ms is not None
    assert observation.sojourn_margin_ms < 15 * expected_s, "the run is too short to tell"
    assert observation.sojourn_ms / 1000 == pytest.approx(expected_s, rel=0.01)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("kernel", ["feed-forward", "events"])
def test_m_m_1(load: float, kernel: str) -> None:
    tuples = 1_000_000 if load < 0.8 else 3_000_000
    found = simulate(plan(topology("a>b"), {"b": 1.0}), load, tuples=tuples, kernel=kernel, seed=1)
    assert_within_one_percent(found, 1 / (1 - load))
    # The sojourn time is exponential: its median is ln 2 times its mean.
    assert found.latency_p50_ms == pytest.approx(693.147 / (1 - load), rel=0.02)
    assert found.latency_p99_ms == pytest.approx(4605.17 / (1 - load), rel=0.03)


@pytest.mark.parametrize("kernel", ["feed-forward", "events"])
def test_m_m_k(kernel: str) -> None:
    found = simulate(
        plan(topology("a>b"), {"b": 1.0}, {"b": 4}),
        3.0,
        routing=SHARED,
        tuples=2_000_000,
        kernel=kernel,
    )
    wait, service = sojourn(4, 3.0, 1.0)
    assert_within_one_percent(found, wait + service)
    assert waiting_s(found, "b") == pytest.approx(wait, rel=0.02)


def test_m_d_1() -> None:
    found = simulate(
        plan(topology("a>b"), {"b": 1.0}),
        0.7,
        service=ServiceTimes("deterministic"),
        tuples=1_000_000,
    )
    # Pollaczek and Khinchine: half the wait of M/M/1.
    assert_within_one_percent(found, 1 + 0.5 * 0.7 / (1 - 0.7))


@pytest.mark.parametrize(
    ("service", "scv"),
    [(ServiceTimes("gamma", 2.0), 2.0), (ServiceTimes("lognormal", 0.5), 0.5)],
)
def test_m_g_1(service: ServiceTimes, scv: float) -> None:
    found = simulate(plan(topology("a>b"), {"b": 1.0}), 0.6, service=service, tuples=3_000_000)
    assert_within_one_percent(found, 1 + 0.6 * (1 + scv) / 2 / (1 - 0.6))


def test_m_g_1_with_the_profile_s_own_variation() -> None:
    profile = ServiceRate(1.0, cpu=0.0, service_scv=0.25)
    found = simulate(plan(topology("a>b"), {"b": profile}), 0.6, tuples=1_000_000)
    assert_within_one_percent(found, 1 + 0.6 * 1.25 / 2 / (1 - 0.6))


def test_g_g_k_stays_within_its_bounds() -> None:
    """Kingman's upper bound for GI/G/1; and k threads with one queue wait less than one thread
    with a k-th of the work, and more than one that is k times as fast.
    """
    load, scv = 0.7, 0.5
    uniform = Arrivals("uniform")
    options = {"arrivals": uniform, "service": ServiceTimes("gamma", scv), "tuples": 400_000}
    one = simulate(plan(topology("a>b"), {"b": 1.0}), load, **options)
    kingman = load * (1 / 3 + scv) / (2 * (1 - load))
    assert 0 < waiting_s(one, "b") < kingman
    many = plan(topology("a>b"), {"b": 1.0}, {"b": 3})
    three = simulate(many, 3 * load, routing=SHARED, **options)
    fast = simulate(plan(topology("a>b"), {"b": 3.0}), 3 * load, **options)
    dealt = simulate(many, 3 * load, **options)
    assert waiting_s(three, "b") < waiting_s(dealt, "b") < waiting_s(one, "b")
    assert three.sojourn_ms > fast.sojourn_ms


def test_a_tandem_is_product_form() -> None:
    found = simulate(
        plan(topology("a>b", "b>c"), {"b": 1.0, "c": 0.5}, {"b": 1, "c": 3}),
        0.6,
        routing=SHARED,
        tuples=2_000_000,
    )
    assert_within_one_percent(found, sum(sojourn(1, 0.6, 1.0)) + sum(sojourn(3, 0.6, 0.5)))


def test_a_jackson_network_with_a_loop() -> None:
    """Exclusive routing: 30 % of what c handles goes back to b, the rest on to d."""
    found = simulate(
        plan(
            topology("a>b", "b>c", "c>b:0.3!", "c>d:0.7"),
            {"b": 1.0, "c": 2.0, "d": 1.2},
            {"b": 3},
        ),
        1.0,
        routing=Routing(selectivity="random", queue="shared"),
        tuples=1_500_000,
    )
    inner = 1 / 0.7
    expected = (
        inner * sum(sojourn(3, inner, 1.0))
        + inner * sum(sojourn(1, inner, 2.0))
        + sum(sojourn(1, 1.0, 1.2))
    )
    assert_within_one_percent(found, expected)
    loads = {load.operator: load.arrival_rate for load in found.operators}
    assert loads["b"] == pytest.approx(inner, rel=0.01)
