"""Rates from two snapshots: executors report at times of their own."""

from __future__ import annotations

import pytest

from slotwise.spark.levels import layout
from slotwise.spark.loads import Loads, Watched
from slotwise.spark.meters import ExecutorMeter, MeterSnapshot, PairMeter, ThreadMeter
from tests.spark.plans import plan, topology

QUERY = "q"


def thread(level: int, arrivals: int, executor: str, query: str = QUERY) -> ThreadMeter:
    return ThreadMeter(query, level, 0, arrivals, arrivals, arrivals * 0.004, 0.0, 0.0, 0, executor)


def snapshot(
    threads: list[ThreadMeter], reported: dict[str, float], sent: float = 0.0
) -> MeterSnapshot:
    executors = tuple(
        ExecutorMeter(name, "host", slot, time, 1, 0.0, 0.0, 0, 0)
        for slot, (name, time) in enumerate(reported.items())
    )
    pairs = (PairMeter(QUERY, 0, 0, 0, sent),)
    return MeterSnapshot(max(reported.values(), default=0.0), tuple(threads), pairs, executors)


@pytest.fixture
def watched() -> Watched:
    of = plan(topology("s>k"))
    return Watched(of, layout(of), QUERY, 100.0)


def test_a_rate_is_over_the_time_between_its_own_reports(watched: Watched) -> None:
    """100 tuples/s through both threads; the second executor reports 0.8 s after the first."""
    first = snapshot([thread(0, 1000, "a"), thread(1, 920, "b")], {"a": 10.0, "b": 9.2}, 1000)
    last = snapshot([thread(0, 1400, "a"), thread(1, 1400, "b")], {"a": 14.0, "b": 14.0}, 1400)
    loads = Loads(watched, first, last, seconds=4.0)
    assert [load.arrival_rate for load in loads.operators] == pytest.approx([100, 100])
    assert [load.arrival_rate for load in loads.threads] == pytest.approx([100, 100])
    assert [load.utilisation for load in loads.operators] == pytest.approx([0.4, 0.4])
    assert loads.traffic.rates == pytest.approx([100])


def test_a_thread_that_has_moved_is_counted_from_one_executor_to_the_other(
    watched: Watched,
) -> None:
    first = snapshot([thread(0, 1000, "a")], {"a": 10.0, "b": 9.5})
    last = snapshot([thread(0, 1350, "b")], {"a": 14.0, "b": 13.5})
    loads = Loads(watched, first, last, seconds=4.0)
    assert loads.operators[0].arrival_rate == pytest.approx(100)


@pytest.mark.parametrize("gone", ["before", "after"])
def test_without_a_report_the_time_between_the_snapshots_counts(
    watched: Watched, gone: str
) -> None:
    first = snapshot([] if gone == "before" else [thread(0, 0, "a")], {"a": 9.0})
    last = snapshot([thread(0, 400, "a")], {} if gone == "after" else {"a": 14.0})
    loads = Loads(watched, first, last, seconds=4.0)
    assert loads.operators[0].arrival_rate == pytest.approx(100)


def test_other_queries_do_not_count(watched: Watched) -> None:
    first = snapshot([thread(0, 0, "a")], {"a": 10.0})
    last = snapshot([thread(0, 40, "a"), thread(0, 999, "a", query="other")], {"a": 14.0})
    assert Loads(watched, first, last, seconds=4.0).source_rate == pytest.approx(10)
