"""Windows of a run, by scripted meters: no Spark, no real time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Logic, ModelError, SlotwiseError
from slotwise.spark.metering import meters
from slotwise.spark.metering.watch import Watch
from tests.clocks import SettableClock
from tests.spark.plans import plan, topology
from tests.spark.scripted import MeteredRun, ScriptedMeters, ScriptedQuery, ScriptedRun
from tests.spark.snapshots import START, meter, snapshot, watched

CHAIN = {(0, 0): 100, (1, 0): 100, (2, 0): 100}


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(now_s=1000.0)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, clock: SettableClock) -> MeteredRun:
    """100 tuples/s for 400 s, 200/s from then on."""
    seen = ScriptedMeters(monkeypatch, clock)
    seen.rates = CHAIN
    clock.at(1400.5, lambda: setattr(seen, "rates", dict.fromkeys(CHAIN, 200)))
    return MeteredRun(clock, seen, plan(topology("s>a", "a>k")))


@pytest.mark.parametrize("last_s", [5, 61, 300, 599, 600])
def test_a_window_is_exact_up_to_what_is_kept(run: MeteredRun, last_s: float) -> None:
    run.advance(900)
    seen = run.observe(last_s)
    assert (seen.start_s, seen.end_s) == (900 - last_s, 900)
    tuples = 200 * min(last_s, 500) + 100 * max(last_s - 500, 0)
    assert seen.operators[1].arrival_rate == pytest.approx(tuples / last_s)


def test_a_window_that_is_longer_than_what_is_kept_is_refused(run: MeteredRun) -> None:
    run.advance(300)
    assert run.observe(1000).start_s == 0
    run.advance(600)
    with pytest.raises(SlotwiseError, match=r"the last 601 s: only 600 s are kept \(kept_s\)"):
        run.observe(601)


@pytest.mark.parametrize("last_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_window_that_is_none_is_refused(run: MeteredRun, last_s: float) -> None:
    run.advance(3)
    with pytest.raises(ModelError, match="for last_s: expected seconds > 0"):
        run.observe(last_s)


def test_time_goes_on_only(run: MeteredRun) -> None:
    with pytest.raises(ModelError, match="invalid value '-1' for seconds: expected seconds > 0"):
        run.advance(-1)


def test_the_whole_is_since_the_warm_up(run: MeteredRun) -> None:
    run.advance(395)
    run.watch.forget()
    assert run.observation() is None
    run.advance(2000)
    seen = run.observation()
    assert seen is not None
    assert (seen.start_s, seen.end_s) == (395, 2395)
    assert seen.operators[1].arrival_rate == pytest.approx(200, rel=0.002)
    assert run.observe(last_s=10).start_s == 2385


@pytest.mark.parametrize(
    ("source", "is_scheduled"),
    [
        (Logic(), False),
        (Logic(options=(("schedule", "step:at=60s,factor=2"),)), True),
        (Logic(format="rate"), True),
    ],
)
def test_the_nominal_rate_is_offered_unless_something_else_sets_it(
    clock: SettableClock, source: Logic, is_scheduled: bool
) -> None:
    of = plan(topology("s>k", logic={"s": source}))
    assert ScriptedRun(clock, of).watched.is_scheduled is is_scheduled


def test_what_is_not_seen_counts_as_scheduled(clock: SettableClock) -> None:
    step = Logic(options=(("schedule", "step:at=60s,factor=2"), ("delay", "5s")))
    run = ScriptedRun(clock, plan(topology("s>k", logic={"s": step}), rate=100.0))
    found = []
    for second in (0, 10, 70):
        clock.sleep(second - run.now_s())
        found.append(run.watched.nominal_rate)
    assert found == [0, 100, 200]


def test_only_the_querys_own_threads_are_kept(
    monkeypatch: pytest.MonkeyPatch, clock: SettableClock
) -> None:
    both = snapshot([meter(0), meter(0, query="other")], {"a": START})
    monkeypatch.setattr(meters, "snapshot", lambda _: both)
    spark: Any = None
    watch, query = Watch(spark, clock), ScriptedQuery()
    watch.tick(query, watched("s>k"))  # type: ignore[arg-type]
    assert watch.history.last is not None
    assert [thread.query for thread in watch.history.last.threads] == [query.id]


def test_slots_that_report_nothing_are_told(run: MeteredRun, clock: SettableClock) -> None:
    """From 1006 on, slot 1 is silent; slot 2 has no threads."""
    run.advance(6)
    last = run.watch.history.last
    assert last is not None
    others = [
        replace(last.executors[0], executor=name, slot=slot) for name, slot in (("b", 1), ("c", 2))
    ]
    threads = tuple(replace(each, executor="ab"[each.level % 2]) for each in last.threads)
    clock.sleep(10)
    now = [replace(last.executors[0], time=last.time + 10), *others]
    run.watch.history.append(
        replace(last, time=last.time + 10, threads=threads, executors=tuple(now))
    )
    assert run.watch.silences(run.now_s(), 5.0) == {1: 10.0}
    assert run.watch.silences(run.now_s(), 10.0) == {}
    with pytest.raises(SlotwiseError, match="slot n1/0 has reported nothing for 10 s"):
        run.observe(15)
    assert run.observe(20).start_s == 0
    assert run.observation(15) is not None
