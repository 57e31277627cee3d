"""A run that fails goes on, on a settable clock: no Spark, no real time."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("pyspark")

from slotwise.model import SlotwiseError
from slotwise.spark import supervise as supervision
from slotwise.spark.supervise import Failures, supervise
from tests.clocks import SettableClock
from tests.spark.scripted import ScriptedRun


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(now_s=1000.0)


@pytest.fixture
def run(clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    monkeypatch.setattr(supervision, "slots", lambda _: ("executor", "executor"))
    return ScriptedRun(clock)


def test_advance_reads_the_meters_each_second(run: ScriptedRun) -> None:
    run.advance(3.5)
    assert run.ticks == [1000, 1001, 1002, 1003, 1003.5]
    assert run.now_s() == 3.5


def test_a_run_that_is_over_ends_early(run: ScriptedRun, clock: SettableClock) -> None:
    run.is_over = lambda: clock.now_s() >= 1002
    supervise(run, 60)
    assert run.now_s() == 2


def test_a_run_that_is_over_is_not_started_again(run: ScriptedRun, clock: SettableClock) -> None:
    run.fail()
    run.is_over = lambda: True
    supervise(run, 60)
    assert run.restarts == []


def test_a_failed_query_resumes_and_the_clock_goes_on(
    run: ScriptedRun, clock: SettableClock
) -> None:
    clock.at(1002, run.fail)
    run.advance(10)
    assert run.restarts == [1002]
    assert run.events == [
        "the query failed (an executor was lost) and resumed from its checkpoint 0.5 s later"
    ]
    assert run.resumed_s == pytest.approx(2.5)
    assert run.now_s() == 10


def test_a_query_that_fails_again_at_once_is_started_again(
    run: ScriptedRun, clock: SettableClock
) -> None:
    clock.at(1002, run.fail)
    clock.at(1002.3, run.fail)  # before its first tuple
    run.advance(10)
    assert len(run.restarts) == 2
    assert [event.partition(" and ")[2] for event in run.events] == [
        "failed again when it was started from its checkpoint",
        "resumed from its checkpoint 0.5 s later",
    ]


def test_a_query_is_not_started_while_no_broker_answers(
    run: ScriptedRun, clock: SettableClock
) -> None:
    run.watch.topics.lacks_broker = True  # type: ignore[union-attr, misc]
    run.fail()
    run.advance(300)
    assert run.restarts == []
    clock.at(1400, lambda: setattr(run.watch.topics, "lacks_broker", False))
    run.advance(300)
    assert run.restarts == [pytest.approx(1400, abs=1.01)]
    assert run.failures.count == 1


def test_meters_are_read_while_a_restart_waits_for_room(
    run: ScriptedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "slots", lambda _: (None, None))
    run.fail()
    run.advance(1)
    assert max(late - early for early, late in itertools.pairwise(run.ticks)) <= 1


def test_a_restart_waits_for_room(
    run: ScriptedRun, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        supervision, "slots", lambda _: (None, "executor" if clock.now_s() >= 1007 else None)
    )
    run.fail()
    run.advance(10)
    assert run.restarts == [pytest.approx(1007, abs=0.11)]


def test_a_restart_does_not_wait_for_room_for_ever(
    run: ScriptedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "slots", lambda _: (None, None))
    run.fail()
    run.advance(10)
    assert run.restarts == [pytest.approx(1020)]


def test_a_query_that_makes_no_progress_is_given_up_over_several_advances(
    run: ScriptedRun,
) -> None:
    for _ in range(3):
        run.fail()
        run.advance(1)
    run.fail()
    with pytest.raises(SlotwiseError, match="'test' failed 4 times without progress: an executor"):
        run.advance(1)


def test_a_finished_batch_is_progress() -> None:
    failures = Failures()
    assert [failures.add(batch) for batch in (0, 0, 2, 2, 0, 3)] == [1, 2, 1, 2, 3, 1]
