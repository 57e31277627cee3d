"""Every loop that waits on Spark, on a settable clock: no Spark, no real time."""

from __future__ import annotations

import itertools
import json
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from slotwise.model import SlotwiseError
from slotwise.spark import failures, sweep
from slotwise.spark.cluster import SparkCluster, connecting, executors, processes
from slotwise.spark.metering.meters import TaskError
from slotwise.spark.waiting import await_batch, await_pace, await_tuples, work_off_backlog
from tests import builders
from tests.clocks import SettableClock
from tests.spark.plans import plan, topology
from tests.spark.scripted import ScriptedRun


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(now_s=1000.0)


@pytest.fixture
def run(clock: SettableClock) -> ScriptedRun:
    return ScriptedRun(clock)


def test_tuples_are_awaited(run: ScriptedRun, clock: SettableClock) -> None:
    clock.at(1003, run.deliver)
    clock.at(1007, run.deliver)
    await_tuples(run, more=2)
    assert run.now_s() == pytest.approx(7, abs=0.11)
    assert len(run.ticks) >= 70


def test_a_query_that_delivers_nothing_is_reported(run: ScriptedRun) -> None:
    with pytest.raises(SlotwiseError, match="query of 'test' has delivered no tuple for 60 s"):
        await_tuples(run)
    assert run.now_s() == pytest.approx(60, abs=0.11)


def test_a_query_whose_threads_begin_late_is_waited_for(
    run: ScriptedRun, clock: SettableClock
) -> None:
    clock.at(1050, lambda: setattr(run, "threads_begun", (2, 0)))
    clock.at(1100, lambda: setattr(run, "threads_begun", (2, 3)))
    clock.at(1150, run.deliver)
    await_tuples(run)
    assert run.now_s() == pytest.approx(150, abs=0.11)


def test_a_query_that_is_idle_for_a_moment_is_not_waited_for(
    run: ScriptedRun, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query of micro-batches asks its sources for data now and then."""
    looks = itertools.cycle([False, False, True])
    monkeypatch.setattr(ScriptedRun, "is_idle", property(lambda run: next(looks)))
    await_tuples(run)
    assert run.now_s() == pytest.approx(0.2)


def test_a_query_whose_broker_is_gone_is_waited_for(run: ScriptedRun, clock: SettableClock) -> None:
    run.watch.topics.lacks_broker = True  # type: ignore[union-attr, misc]
    clock.at(1300, lambda: setattr(run.watch.topics, "lacks_broker", False))
    with pytest.raises(SlotwiseError, match="has delivered no tuple for 60 s"):
        await_tuples(run)
    assert run.now_s() == pytest.approx(360, abs=0.21)


def test_a_query_that_fails_ends_the_wait(run: ScriptedRun, clock: SettableClock) -> None:
    clock.at(1002, run.fail)
    with pytest.raises(SlotwiseError, match="query of 'test' failed: an executor was lost"):
        await_tuples(run)
    assert run.now_s() == pytest.approx(2, abs=0.11)


def test_a_run_that_is_to_end_ends_the_wait(run: ScriptedRun, clock: SettableClock) -> None:
    run.is_over = lambda: clock.now_s() >= 1002
    with pytest.raises(SlotwiseError, match="the run of 'test' was ended"):
        await_tuples(run)
    assert run.now_s() == pytest.approx(2, abs=0.11)


def test_the_end_of_a_batch_is_awaited(run: ScriptedRun, clock: SettableClock) -> None:
    run.batches = 4
    clock.at(1010, lambda: setattr(run, "batches", 5))
    assert await_batch(run) == 5
    with pytest.raises(SlotwiseError, match="has finished no batch for 36 s"):
        await_batch(run)


def test_a_run_in_pace_is_not_waited_for(run: ScriptedRun) -> None:
    run.median_ms = 20.0
    assert await_pace(run)
    assert run.now_s() == 0


def test_slow_operators_are_no_backlog(run: ScriptedRun, clock: SettableClock) -> None:
    run.median_ms = 4000.0
    clock.at(1002, lambda: setattr(run, "stable", True))
    assert await_pace(run)
    assert run.now_s() == pytest.approx(2, abs=0.11)


def test_a_tuple_of_a_micro_batch_waits_for_two_batches(clock: SettableClock) -> None:
    run = ScriptedRun(clock, plan(topology("s>a", "a>k"), engine="micro-batch"))
    run.median_ms, run.stable = 4000.0, True
    clock.at(1003, lambda: took(run, 1000, 1000))
    clock.at(1008, lambda: took(run, 1000, 2000, 2000))
    assert await_pace(run)
    assert run.now_s() == pytest.approx(8, abs=0.11)


def test_long_first_batches_are_worked_off(clock: SettableClock) -> None:
    """What comes due in a first batch of 20 s is in the second one, and late after it."""
    run = ScriptedRun(clock, plan(topology("s>a", "a>k"), engine="micro-batch"))
    run.median_ms = 20_000.0
    clock.at(1003, lambda: took(run, 20_000))
    clock.at(1008, lambda: took(run, 20_000, 5000))
    clock.at(1010, lambda: took(run, 20_000, 5000, 2000))
    clock.at(1012, lambda: setattr(run, "median_ms", 4000.0))
    assert await_pace(run)
    assert run.now_s() == pytest.approx(12, abs=0.11)


def took(run: ScriptedRun, *batches_ms: int) -> None:
    ended = tuple(SimpleNamespace(batchDuration=each) for each in batches_ms)
    run.query.recentProgress = ended  # type: ignore[assignment,misc]


@pytest.mark.parametrize("first_ms", [None, 4000.0])
def test_a_backlog_is_worked_off_before_the_run_is_judged(
    run: ScriptedRun, clock: SettableClock, first_ms: float | None
) -> None:
    run.median_ms = first_ms
    clock.at(1012, lambda: setattr(run, "median_ms", 480.0))
    work_off_backlog(run)
    assert run.now_s() == pytest.approx(12, abs=0.11)
    assert run.events == []


@pytest.mark.parametrize(
    ("measures", "median_ms", "sentence"),
    [
        (
            True,
            4600.0,
            "about 460 tuples that came due during the start-up were not worked off in 30 s",
        ),
        (True, None, "what came due during the start-up was not worked off in 30 s"),
        (False, None, "what came due during the start-up was not worked off in 30 s"),
    ],
)
def test_a_backlog_that_stays_is_an_event_of_the_run(
    run: ScriptedRun, measures: bool, median_ms: float | None, sentence: str
) -> None:
    run.median_ms, run.measures = median_ms, measures
    work_off_backlog(run)
    assert run.events == [sentence]
    assert run.now_s() == pytest.approx(30)


def test_a_failed_query_is_not_in_pace(run: ScriptedRun, clock: SettableClock) -> None:
    run.median_ms = 4000.0
    clock.at(1005, run.fail)
    assert not await_pace(run)
    assert run.now_s() == pytest.approx(5, abs=0.11)


def cluster_of(slots: int) -> SparkCluster:
    return SparkCluster(builders.cluster(slots, 1), 8, 512, master="spark://somewhere:7077")


class Scheduler:
    """As the JVM's: an executor more at each of the given moments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: SettableClock, *at: float) -> None:
        self.clock, self.at = clock, at
        monkeypatch.setattr(executors, "scheduler", lambda _: self)
        monkeypatch.setattr(connecting, "scheduler", lambda _: self)
        monkeypatch.setattr(connecting.workers, "check", lambda *_: ())
        self.requests: list[int] = []
        self.slots = ""
        self.is_stopped = False
        stopped = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: self.is_stopped))
        self.spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=stopped))

    def executors(self) -> str:
        living = [n for n, at_s in enumerate(self.at) if at_s <= self.clock.now_s()]
        return json.dumps({str(n): f"host-{n}" for n in living})

    def connect(self, master: str, executors: int) -> None:
        self.requests.append(executors)

    def request(self, executors: int) -> None:
        self.requests.append(executors)

    def setSlots(self, hosts: str) -> None:  # noqa: N802
        self.slots = hosts


def test_an_executor_per_slot_is_awaited(
    monkeypatch: pytest.MonkeyPatch, clock: SettableClock
) -> None:
    scheduler = Scheduler(monkeypatch, clock, 1001, 1004)
    connecting.connect(scheduler.spark, cluster_of(2), 60, clock)
    assert scheduler.slots == "host-0,host-1"
    assert scheduler.requests == [2]
    assert clock.now_s() == pytest.approx(1004, abs=0.11)


def test_too_few_executors_are_reported(
    monkeypatch: pytest.MonkeyPatch, clock: SettableClock
) -> None:
    scheduler = Scheduler(monkeypatch, clock, 1001, 1004)
    refusal = (
        "needs 3 executors of one core and 512 MB, on different hosts: 1 on each of 3 hosts of "
        "spark://somewhere:7077; in 60 s it provided 2"
    )
    with pytest.raises(SlotwiseError, match=refusal):
        connecting.connect(scheduler.spark, cluster_of(3), 60, clock)
    assert clock.now_s() == pytest.approx(1060)


def test_a_driver_that_was_stopped_gets_no_executors(
    monkeypatch: pytest.MonkeyPatch, clock: SettableClock
) -> None:
    scheduler = Scheduler(monkeypatch, clock)
    clock.at(1002, lambda: setattr(scheduler, "is_stopped", True))
    with pytest.raises(SlotwiseError, match="spark://somewhere:7077 has ended the application"):
        connecting.connect(scheduler.spark, cluster_of(1), 60, clock)
    assert clock.now_s() == pytest.approx(1002, abs=0.11)


class Process:
    """As subprocess.Popen."""

    exit_code: int | None = None

    def poll(self) -> int | None:
        return self.exit_code


def test_workers_are_awaited(
    monkeypatch: pytest.MonkeyPatch, clock: SettableClock, tmp_path: Path
) -> None:
    process: Any = Process()
    monkeypatch.setattr(processes, "_living_workers", lambda page: int(clock.now_s() - 1000) // 2)
    two, many = (
        processes.Daemons(
            tmp_path, "host", 1, 2, [process], {str(n): process for n in range(count)}
        )
        for count in (2, 99)
    )
    two.await_workers(clock)
    assert clock.now_s() == pytest.approx(1004, abs=0.11)
    (tmp_path / "worker.log").write_text("WARNING: slow\njava.lang.Error: no address\n")
    with pytest.raises(SlotwiseError, match=r"only 32 of 99 workers registered .* in 60 s: worker"):
        many.await_workers(clock)
    process.exit_code = 1
    with pytest.raises(
        SlotwiseError, match=r"ended during its start-up: worker: java\.lang\.Error"
    ):
        two.await_workers(clock)


def test_rows_of_a_sweep_come_as_they_arrive(clock: SettableClock) -> None:
    arrived: Any = SimpleNamespace(value=[])
    job: Future[None] = Future()
    clock.at(1003, lambda: arrived.value.append(b"one"))
    clock.at(1008, lambda: arrived.value.extend([b"two", b"three"]))
    clock.at(1008, lambda: job.set_result(None))
    seen = [(row, round(clock.now_s() - 1000)) for row in sweep._as_they_come(arrived, job, clock)]
    assert seen == [(b"one", 3), (b"two", 8), (b"three", 8)]


def test_a_sweep_that_fails_gives_its_rows_first(clock: SettableClock) -> None:
    arrived: Any = SimpleNamespace(value=[b"one"])
    job: Future[None] = Future()
    job.set_exception(ValueError("no worker"))
    rows = sweep._as_they_come(arrived, job, clock)
    assert next(rows) == b"one"
    with pytest.raises(ValueError, match="no worker"):
        next(rows)


def test_the_cause_of_a_failure_is_awaited_for_a_while(
    monkeypatch: pytest.MonkeyPatch, clock: SettableClock
) -> None:
    query: Any = SimpleNamespace(id="q", exception=lambda: "Job aborted: Connection reset")
    monkeypatch.setattr(failures, "_operator", lambda *_: "")
    cause = TaskError(1, 0, "Division by zero")
    monkeypatch.setattr(failures, "_cause", lambda *_: cause if clock.now_s() >= 1002 else None)
    assert failures.why(query, None, None, clock) == "Division by zero"  # type: ignore[arg-type]
    monkeypatch.setattr(failures, "_cause", lambda *_: None)
    told = failures.why(query, None, None, clock)  # type: ignore[arg-type]
    assert told == "the connection to another executor was lost (Job aborted: Connection reset)"
    assert clock.now_s() == pytest.approx(1005, abs=0.11)
