"""Deployments that begin with tuples waiting."""

from __future__ import annotations

import pytest

from slotwise.model import ModelError, Schedule
from slotwise.rates import arrival_rates
from slotwise.simulation import Arrivals, Options, Routing, ServiceTimes, SimulatedDeployment
from slotwise.simulation.waiting import due_times_s
from tests.builders import topology
from tests.simulation.builders import plan

SHAPE = topology("a>b", "b>c")
CONSTANT = Arrivals("constant")
FIXED = Options(arrivals=CONSTANT, service=ServiceTimes("deterministic"))


def test_what_is_further_along_came_first() -> None:
    rates = arrival_rates(SHAPE, 2.0)
    due = due_times_s(SHAPE, rates, {"a": 2, "c": 4.4, "b": 0})
    # 2 tuples at a are one second of input, and those at c the two seconds before.
    assert {at: times.tolist() for at, times in due.items()} == {
        0: pytest.approx([-0.75, -0.25]),
        2: pytest.approx([-2.75, -2.25, -1.75, -1.25]),
    }


@pytest.mark.parametrize("queue", ["own", "shared"])
def test_a_backlog_is_worked_off(queue: str) -> None:
    """Ten tuples wait for two threads that take 0.25 s each; 4 more come per second."""
    two = plan(SHAPE, {"b": 4.0}, {"b": 2}, rate=4.0)
    options = Options(FIXED.arrivals, FIXED.service, routing=Routing(queue=queue))  # type: ignore[arg-type]
    at_work = SimulatedDeployment(two, options=options, waiting={"b": 10})
    at_work.advance(1.0)
    seen = at_work.observe(1.0)
    # The oldest is due 2.375 s before the start and done at 0.25 s.
    assert seen.throughput == 8.0 - 2.0  # The pair that ends at 1 s is in the next window.
    ends_s = [2.625, 2.375, 2.375, 2.125, 2.125, 1.875]
    assert seen.latency_ms == pytest.approx(1000 * sum(ends_s) / 6)
    at_work.advance(9.0)
    assert at_work.observe(5.0).latency_ms == pytest.approx(250.0)


def test_a_change_takes_the_waiting_tuples_along() -> None:
    one, two = (plan(SHAPE, {"b": 4.0}, {"b": threads}, rate=3.0) for threads in (1, 2))
    at_work = SimulatedDeployment(one, options=FIXED, waiting={"b": 20}, restart_pause_s=2.0)
    at_work.apply(two)
    assert at_work.observe(2.0).throughput == 0.0
    at_work.advance(18.0)
    assert at_work.observe(20.0).throughput == pytest.approx(4.0, rel=0.02)  # (20 + 3 · 20) / 20 s


def test_waiting_tuples_came_at_the_rate_the_schedule_begins_with() -> None:
    made = plan(SHAPE, {"b": 40.0}, rate=10.0)
    halved = Options(
        Arrivals("constant", Schedule(((0.0, 0.5),))), service=ServiceTimes("deterministic")
    )
    at_work = SimulatedDeployment(made, options=halved, waiting={"a": 10})
    at_work.advance(0.1)
    # The first three, due 1.9, 1.7 and 1.5 s before the start, end after 25, 50 and 75 ms.
    assert at_work.observe(0.1).latency_ms == pytest.approx(1750)


def test_only_known_operators_and_numbers() -> None:
    with pytest.raises(ModelError, match="tuples wait for 'x', but topology"):
        SimulatedDeployment(plan(SHAPE, {}), waiting={"x": 1})
    with pytest.raises(ModelError, match="expected a number ≥ 0"):
        SimulatedDeployment(plan(SHAPE, {}), waiting={"a": -1})
