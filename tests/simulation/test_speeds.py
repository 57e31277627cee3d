"""Operators and nodes that become slower or faster in mid-run."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.model import ModelError, Observation, Plan, Schedule
from slotwise.simulation import (
    Arrivals,
    Options,
    ServiceTimes,
    SimulatedDeployment,
    Speeds,
    simulate,
)
from slotwise.simulation.run import run
from tests.builders import cluster, topology
from tests.simulation.builders import plan

SHAPE = topology("a>b", "b>c")
FIXED = {"arrivals": Arrivals("constant"), "service": ServiceTimes("deterministic")}
HALVED = Schedule(((0.0, 0.5),))


def sized(threads: int = 2, b: float = 4.0) -> Plan:
    """Two nodes of two slots; threads of b are by turns on node 0 and node 1."""
    slots = [0, *(2 * (t % 2) for t in range(threads)), 1]
    return plan(
        SHAPE, {"b": b, "c": 20.0}, {"b": threads}, rate=5.0, cluster=cluster(2, 2), slots=slots
    )


def service_ms(seen: Observation, operator: str) -> float | None:
    return next(load.service_ms for load in seen.operators if load.operator == operator)


def test_an_operator_takes_longer_from_a_second_on() -> None:
    slower = Speeds(operators={"b": Schedule.step(at_s=20, factor=0.5)})
    at_work = SimulatedDeployment(sized(), options=Options(**FIXED, speeds=slower))
    at_work.advance(20)
    before = at_work.observe(10)
    at_work.advance(20)
    after = at_work.observe(10)
    assert (service_ms(before, "b"), service_ms(after, "b")) == pytest.approx((250.0, 500.0))
    assert service_ms(after, "c") == pytest.approx(50.0)
    assert (before.busiest, after.busiest) == pytest.approx((0.625, 1.25))
    assert (before.stable, after.stable) == (True, False)


def test_a_speed_changes_gradually_and_again_in_each_period() -> None:
    there_and_back = Schedule(((0.0, 1.0), (10.0, 0.5), (20.0, 1.0)), period_s=20.0)
    done = run(
        sized(), None, Options(**FIXED, speeds=Speeds({"b": there_and_back}), duration_s=80.0), 1000
    )
    log = done.tally.log[: done.tally.logged[0]]
    mine = np.isin(log[:, 0], [1, 2])
    began_s, took_s = log[mine, 4], log[mine, 5] - log[mine, 4]
    speed = np.interp(began_s % 20.0, [0.0, 10.0, 20.0], [1.0, 0.5, 1.0])
    assert mine.sum() > 300
    assert took_s == pytest.approx(0.25 / speed)


def test_a_slow_node_slows_its_own_threads_only() -> None:
    slow = Speeds(nodes={"n1": HALVED, "not-there": HALVED})
    assert [node.name for node in sized().cluster.nodes] == ["n0", "n1"]
    seen = simulate(sized(), speeds=slow, tuples=1000, **FIXED)
    busy = [load.utilisation for load in seen.threads if load.operator == "b"]
    assert busy == pytest.approx([0.625, 1.25])
    assert service_ms(seen, "c") == pytest.approx(50.0)


def test_a_speed_is_the_same_as_another_profile() -> None:
    """Random numbers are those of the thread, whatever its speed."""
    slowed = simulate(sized(4), speeds=Speeds({"b": HALVED}), tuples=2000, kernel="events")
    other = simulate(sized(4, b=2.0), tuples=2000, kernel="events")
    assert slowed.latency_ms == pytest.approx(other.latency_ms)
    assert slowed.busiest == pytest.approx(other.busiest)
    both = simulate(sized(4), speeds=Speeds({"b": HALVED}, {"n1": HALVED}), tuples=2000)
    assert max(load.utilisation for load in both.threads) == pytest.approx(1.25)


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ModelError, match="the speed of 'b' falls to 0"):
        Speeds({"b": Schedule.step(1.0, 0.0)})
    with pytest.raises(ModelError, match="a speed is given for 'x', but topology"):
        simulate(sized(), speeds=Speeds({"x": HALVED}))
    with pytest.raises(ModelError, match="does not support speeds that change"):
        simulate(sized(), speeds=Speeds({"b": HALVED}), kernel="feed-forward")
