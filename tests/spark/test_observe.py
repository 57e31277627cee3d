"""Snapshots of the meters as an Observation: slots, nodes, latencies, traffic and the series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise import sketch
from slotwise.model import Cluster, Node, SlotLoad, ThreadTraffic
from slotwise.spark.metering.loads import Watched
from slotwise.spark.metering.observe import observe
from slotwise.spark.query.levels import layout
from tests.spark.plans import plan, topology
from tests.spark.snapshots import QUERY, Second, meter, snapshot, story, watched

THREE_SLOTS = Cluster(
    (Node("n0", 2, 2.0, price_per_hour=0.25), Node("n1", 1, 1.0, price_per_hour=0.5)),
    slot_memory_gb=1.0,
)


def on_three_slots() -> Watched:
    made = plan(topology("s>a", "a>k"), on=THREE_SLOTS, slots=[0, 1, 2])
    return Watched(made, layout(made), QUERY, 100.0)


def test_all_slots_and_nodes_are_there_and_unknown_is_none() -> None:
    """Only slot 0 has an executor that reports; it used 2 of 4 seconds of its core."""
    first = snapshot([meter(0)], {"a": 10.0}, cpu_seconds=5.0)
    last = snapshot([meter(0)], {"a": 14.0}, cpu_seconds=7.0, memory_bytes=2**28)
    found = observe(on_three_slots(), [first, last])
    assert found.slots == (
        SlotLoad("n0/0", 0.5, 0.25),
        SlotLoad("n0/1", None, None),
        SlotLoad("n1/0", None, None),
    )
    assert found.nodes == (SlotLoad("n0", 0.5, 0.25), SlotLoad("n1", None, None))
    assert found.cost_per_hour == 0.75
    assert found.machines == 2


def test_memory_that_the_system_does_not_tell_is_none() -> None:
    both = [snapshot([meter(0)], {"a": time}) for time in (10.0, 14.0)]
    assert observe(on_three_slots(), both).slots[0].mem is None


def test_traffic_between_threads_slots_and_nodes() -> None:
    of = on_three_slots()
    threads = [meter(0, to={1: 400}), meter(1, to={2: 80})]
    first = snapshot([meter(0), meter(1)], {"a": 10.0})
    found = observe(of, [first, snapshot(threads, {"a": 14.0})])
    # All executors report as slot 0's, where the threads ran; the sink, as planned, in slot 2.
    assert found.thread_traffic == ThreadTraffic(
        np.array([0, 1]), np.array([1, 2]), np.array([100.0, 20.0])
    )
    assert found.slot_traffic == ThreadTraffic(
        np.array([0, 0]), np.array([0, 2]), np.array([100.0, 20.0])
    )
    assert found.node_traffic == ThreadTraffic(
        np.array([0, 0]), np.array([0, 1]), np.array([100.0, 20.0])
    )
    assert (found.inter_slot_traffic, found.inter_node_traffic) == (20.0, 20.0)


def test_the_cpu_of_a_slot_is_a_part_of_its_quota() -> None:
    quota = replace(on_three_slots(), cores_per_slot=0.25)
    first, last = snapshot([meter(0)], {}), snapshot([], {"a": 15.0}, cpu=0.2)
    assert observe(on_three_slots(), [first, last]).slots[0].cpu == pytest.approx(0.2)
    assert observe(quota, [first, last]).slots[0].cpu == pytest.approx(0.8)
    assert observe(quota, [first, last]).nodes[0].cpu == pytest.approx(0.8)


def test_the_cpu_of_an_executor_is_not_known_from_its_first_report() -> None:
    first = snapshot([meter(0)], {})
    assert (
        observe(on_three_slots(), [first, snapshot([], {"a": 14.0}, cpu=None)]).slots[0].cpu is None
    )
    assert (
        observe(on_three_slots(), [first, snapshot([], {"a": 15.0}, cpu=0.5)]).slots[0].cpu == 0.5
    )


def test_traffic_that_nobody_looked_at_is_none() -> None:
    found = observe(watched("s>a", "a>k"), story([Second()] * 3))
    assert found.thread_traffic is None
    assert found.inter_slot_traffic is None


def test_latencies_at_sinks() -> None:
    seconds = [Second(latency=0.010)] * 9 + [Second(latency=0.5)]
    found = observe(watched("s>a", "a>k"), story(seconds))
    assert found.latency_ms == pytest.approx(59, rel=0.004)
    assert found.latency_p50_ms == pytest.approx(10, rel=0.004)
    assert found.latency_p95_ms == found.latency_p99_ms == pytest.approx(500, rel=0.004)
    assert found.network_ms is None


def test_latencies_of_threads_add_up_from_where_each_begins() -> None:
    of = watched("s>k", threads={"k": 2})
    quick, slow = sketch.bucket(0.01), sketch.bucket(0.4)
    sinks = [
        meter(1, 0, first_bucket=quick, latencies=np.array([5, 0, 1])),
        meter(1, 1, first_bucket=slow, latencies=np.array([4])),
    ]
    found = observe(of, [snapshot([], {"a": 10.0}), snapshot(sinks, {"a": 14.0})])
    assert found.latency_p50_ms == pytest.approx(10, rel=0.004)
    assert found.latency_p95_ms == pytest.approx(400, rel=0.004)


def test_the_series_has_the_same_meanings_as_the_whole() -> None:
    seconds = [Second(), Second(80, latency=0.1), Second(0, busy=0.0, late=1.005)]
    series = observe(watched("s>a", "a>k"), story(seconds)).series
    assert series is not None
    assert series.window_s == pytest.approx(1)
    assert series.latency_ms[:2] == pytest.approx((20, 100), rel=0.004)
    assert series.latency_ms[2] is None
    assert series.sojourn_ms[2] is None
    assert series.handled_rate["a"] == pytest.approx((100, 80, 0))
    # Nothing was taken in in the last second, so what came due then is what was asked for.
    assert series.offered_rate == pytest.approx((100, 80, 100))
    assert series.queue == {}


def test_under_a_schedule_the_offered_rate_is_what_came_due() -> None:
    seconds = [Second(taken) for taken in (100, 100, 300, 300, 300, 300)]
    of = watched("s>a", "a>k", offered=100.0)
    assert observe(of, story(seconds)).offered_rate == 100
    scheduled = observe(replace(of, is_scheduled=True), story(seconds))
    assert scheduled.offered_rate == pytest.approx(1400 / 6, rel=0.01)
    assert scheduled.series is not None
    assert scheduled.series.offered_rate == pytest.approx((100, 100, 300, 300, 300, 300))


def test_two_snapshots_have_no_series() -> None:
    found = observe(watched("s>a", "a>k"), story([Second(), Second()])[:2])
    assert found.series is None
    assert found.latency_slope is None
