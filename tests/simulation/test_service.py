"""Service times: the profile at the thread count a slot really has, and over-committed slots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotwise.model import FixedLoad, Grouping, ServiceRate, Stream, ThreadRow, ThreadTable
from slotwise.prediction import predict
from slotwise.simulation import Arrivals, Keys, ServiceTimes, simulate
from tests.builders import cluster, topology
from tests.simulation.builders import plan

FIXED = ServiceTimes("deterministic")
TABLE = ThreadTable((ThreadRow(1, 10.0, 0.2, 0.1), ThreadRow(2, 12.0, 0.3, 0.1)))


def test_the_thread_count_in_the_slot_sets_the_rate_per_thread() -> None:
    given = plan(topology("a>b"), {"b": TABLE}, {"b": 3}, cluster=cluster(1, 2), slots=[0, 0, 0, 1])
    found = simulate(given, 3.0, service=FIXED, tuples=3000, warm_up=0.0)
    # Two threads of a slot do 6/s each, the one alone does 10/s.
    assert found.operators[1].service_ms == pytest.approx((2000 / 6 + 1000 / 10) / 3, rel=1e-2)
    assert found.operators[1].capacity == pytest.approx(22.0)


def test_a_node_twice_as_fast_takes_half_the_time() -> None:
    one = cluster(1, 2)
    fast = replace(one, nodes=(replace(one.nodes[0], speed=2.0),))
    found = simulate(plan(topology("a>b"), {"b": 4.0}, cluster=fast), 1.0, service=FIXED)
    assert found.operators[1].service_ms == pytest.approx(125.0)


def test_an_over_committed_slot_slows_its_threads_as_predicted() -> None:
    busy = ServiceRate(1.0, cpu=1.0)
    given = plan(
        topology("a>b", "b>c"), {"b": busy, "c": busy}, cluster=cluster(1, 1), slots=[0, 0, 0]
    )
    fine = simulate(given, 0.4, service=FIXED, tuples=1000)
    assert [load.service_ms for load in fine.operators[1:]] == pytest.approx([1000, 1000])
    assert fine.slots[0].cpu == pytest.approx(0.8, rel=0.1)
    assert fine.remarks == ()
    over = simulate(given, 0.6, service=FIXED, tuples=5000)
    assert over.stable is False
    assert over.capacity == pytest.approx(predict(given, 0.6).capacity, rel=0.05)
    assert any("over-committed" in remark for remark in over.remarks)
    assert over.slots[0].cpu == pytest.approx(1.0, rel=0.01)


def test_the_slot_that_the_run_s_own_keys_overload_is_slowed() -> None:
    busy = ServiceRate(10.0, cpu=1.0)
    keyed = Stream("a", "b", grouping=Grouping("fields", ("key",)))
    made = replace(topology("a>b", "a>c"), streams=(keyed, Stream("a", "c")))
    given = plan(
        made,
        {"b": busy, "c": busy},
        {"b": 2, "c": 2},
        cluster=cluster(1, 3),
        slots=[2, 0, 1, 0, 1],
    )
    usual = simulate(given, 8.0, service=FIXED, tuples=2000)
    assert usual.remarks == ()
    # One key: its thread of b gets all tuples and needs 0.8, beside 0.4 of c.
    one = simulate(given, 8.0, service=FIXED, tuples=2000, keys=Keys(number=1))
    hot = max((each for each in one.threads if each.operator == "b"), key=lambda t: t.arrival_rate)
    assert hot.arrival_rate == pytest.approx(8.0, rel=0.1)
    slowed = [remark for remark in one.remarks if "over-committed" in remark]
    assert len(slowed) == 1
    assert hot.slot in slowed[0]


def test_a_little_used_thread_keeps_its_fair_share_of_an_over_committed_slot() -> None:
    hog, mouse = ServiceRate(1.0, cpu=1.0), ServiceRate(10.0, cpu=1.0)
    given = plan(
        topology("a>b", "a>c"), {"b": hog, "c": mouse}, cluster=cluster(1, 1), slots=[0, 0, 0]
    )
    found = simulate(given, 1.0, service=FIXED, tuples=5000)
    loads = {load.operator: load.utilisation for load in found.operators}
    assert loads["b"] > 1
    assert loads["c"] < 1


def test_a_fixed_load_takes_cpu_but_no_time() -> None:
    given = plan(topology("a>b"), {"b": FixedLoad(1, 0.3, 0.2)}, cluster=cluster(1, 1))
    found = simulate(given, 50.0, tuples=1000)
    assert found.sojourn_ms == 0
    assert found.slots[0].cpu == pytest.approx(0.3)
    assert found.nodes[0].mem == pytest.approx(0.2)


def test_recorded_and_per_operator_service_times() -> None:
    given = plan(topology("a>b", "b>c"), {"b": 10.0, "c": 10.0})
    found = simulate(
        given,
        1.0,
        arrivals=Arrivals("constant"),
        service={"b": ServiceTimes("samples", samples=(1.0, 3.0)), "c": FIXED},
        tuples=10_000,
    )
    assert found.operators[1].service_ms == pytest.approx(100.0, rel=0.02)
    assert found.operators[2].service_ms == pytest.approx(100.0)
    assert found.latency_p99_ms == pytest.approx(250.0, rel=0.01)
    scv = {load.operator: load.service_scv for load in found.operators}
    assert (scv["b"], scv["c"]) == pytest.approx((0.25, 0.0), abs=0.01)
