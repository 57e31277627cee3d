"""What is kept of a run: also of one that fails, is killed, or is faster than the disk."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from slotwise.model import Fault, Observation, SlotwiseError
from slotwise.runs import Head, Recorder, Runs
from slotwise.runs.inbox import Ended, Happened, Inbox, Item, Seen
from slotwise.runs.reading import KILLED, remove
from slotwise.runs.summary import summary_of

from ..dashboard.live import live_run, orders

PLAN = orders()
HEAD = Head.of(PLAN, "measured", PLAN.rate)


def seen_at(at_s: float, rate: float = 41.0) -> Observation:
    assert PLAN.predicted is not None
    fields = {name: getattr(PLAN.predicted, name) for name in Observation.__dataclass_fields__}
    window = {"origin": "measured", "start_s": at_s - 1, "end_s": at_s, "offered_rate": rate}
    return Observation(**fields | window)


def test_a_run_under_a_controller_is_read_back(tmp_path: Path) -> None:
    with live_run(tmp_path, PLAN, "threshold:seconds=10", factor=2) as run:
        for _ in range(8):
            run.period()
    with Runs.opened(run.path) as runs:
        kept = runs.run("last")
        assert (kept.id, kept.topology, kept.origin, kept.state) == (
            1,
            "orders",
            "simulated",
            "ended",
        )
        assert kept.controller == "threshold:seconds=10.0"
        applied = [each for each in runs.decisions(1) if each["outcome"] == "applied"]
        assert applied[0]["changes"]
        assert applied[0]["plan"] == 2
        assert applied[0]["before"] == 1
        assert [mark["kind"] for mark in runs.marks(1)] == ["restart"]
        assert sorted(runs.plans(1)) == [1, 2]
        points = runs.history(1, (0.0, 1e9), 600)
        assert len(points) == 8
        assert points[0]["offered_rate"] == 41.0
        assert points[0]["taken_in_rate"] == pytest.approx(41.0, rel=0.3)
        assert len(points[0]["slot_cpu"]) == 3
        newest = runs.seen(1)
        assert newest is not None
        assert newest.plan == 2
        assert newest.observation["operators"][0]["operator"] == "orders"
        assert {verdict["goal"] for verdict in newest.verdicts} >= {"rate", "latency_p99_ms"}
        earlier = runs.seen(1, until_s=12.0)
        assert earlier is not None
        assert (earlier.at_s, earlier.plan) == (10.0, 1)
        assert summary_of(runs, 1).changes == 1


def test_what_became_of_each_change_is_kept_also_after_the_next_one(tmp_path: Path) -> None:
    with live_run(tmp_path, PLAN, "p-deployer:seconds=10", factor=3) as run:
        for _ in range(22):
            run.period()
    with Runs.opened(run.path) as runs:
        applied = [each for each in runs.decisions(1) if each["outcome"] == "applied"]
    assert len(applied) > 1
    for each in applied:
        if each["expected"]["gain"] is not None:
            assert each["seen"] is not None, each


def test_several_runs_at_once_are_kept_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    recorders = [Recorder.started(path, HEAD) for _ in range(4)]

    def see(recorder: Recorder) -> None:
        for second in range(1, 31):
            recorder.saw(float(second), PLAN, seen_at(second, rate=recorder.id))

    threads = [threading.Thread(target=see, args=(each,)) for each in recorders]
    for thread in threads:
        thread.start()
    for thread, recorder in zip(threads, recorders, strict=True):
        thread.join()
        recorder.end()
    with Runs.opened(path) as runs:
        assert [run.state for run in runs.all()] == ["ended"] * 4
        for run in runs.all():
            rates = {point["offered_rate"] for point in runs.history(run.id, (0.0, 1e9), 100)}
            assert rates == {float(run.id)}


def test_why_a_run_failed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with pytest.raises(SlotwiseError), Recorder.started(path, HEAD):
        raise SlotwiseError("the query failed twice")
    with pytest.raises(KeyboardInterrupt), Recorder.started(path, HEAD):
        raise KeyboardInterrupt
    with Runs.opened(path) as runs:
        assert [(run.state, run.why) for run in runs.all()] == [
            ("failed", "interrupted"),
            ("failed", "the query failed twice"),
        ]


_KILLED = """
import sys, time
from pathlib import Path
from tests.runs.test_recorder import HEAD, PLAN, seen_at
from slotwise.runs import Recorder
recorder = Recorder.started(Path(sys.argv[1]), HEAD)
second = 0
while True:
    second += 1
    recorder.saw(float(second), PLAN, seen_at(second))
    print(second, flush=True)
    time.sleep(0.01)
"""


def test_a_run_that_is_killed_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if int(line) >= 20:
                break
        with Runs.opened(path) as runs:
            assert runs.run("last").state == "running"
            with pytest.raises(SlotwiseError, match="still running"):
                remove(path, ["last"])
        process.send_signal(signal.SIGKILL)
        process.wait()
    with Runs.opened(path) as runs:
        run = runs.run("last")
        assert (run.state, run.why, run.ended) == ("failed", KILLED, None)
        assert len(runs.history(run.id, (0.0, 1e9), 1000)) >= 10
    remove(path, ["last"])
    with Runs.opened(path) as runs:
        assert runs.all() == []
        assert runs.connection.execute("SELECT count(*) FROM points").fetchone()[0] == 0


def test_events_are_marks_and_failures_are_faults(tmp_path: Path) -> None:
    class Deployment:
        plan = PLAN
        events: tuple[str, ...] = ("node 'a' was added in 2.0 s",)

        def now_s(self) -> float:
            return 12.0

    deployment = Deployment()
    with Recorder.started(tmp_path / "runs.db", HEAD) as recorder:
        recorder.happened(deployment)  # type: ignore[arg-type]
        failure = Fault("the query failed (no room) and resumed")
        deployment.events += ("node 'b' was added in 3.0 s", failure)
        recorder.happened(deployment)  # type: ignore[arg-type]
        recorder.happened(deployment)  # type: ignore[arg-type]
    with Runs.opened(recorder.path) as runs:
        assert [mark["kind"] for mark in runs.marks(1)] == ["event", "event", "fault"]


def test_a_full_inbox_drops_the_oldest_observation_and_nothing_else() -> None:
    inbox = Inbox(waits=False, most=3)
    inbox.put(Happened(0.0, ("a machine was lost",)))
    for second in range(1, 6):
        inbox.put(Seen(second, PLAN, seen_at(second)))
    inbox.put(Ended(""))
    taken = inbox.take()
    assert [type(item).__name__ for item in taken] == ["Happened", "Seen", "Ended"]
    assert isinstance(taken[1], Seen)
    assert (taken[1].at_s, inbox.dropped) == (5, 4)


def test_a_simulated_run_waits_for_room() -> None:
    inbox, taken = Inbox(waits=True, most=2), list[Item]()
    items = [Seen(second, PLAN, seen_at(second)) for second in range(50)]

    def put() -> None:
        for item in items:
            inbox.put(item)

    thread = threading.Thread(target=put)
    thread.start()
    while len(taken) < len(items):
        taken += inbox.take()
    thread.join()
    assert taken == items
    assert inbox.dropped == 0


def test_a_file_that_is_not_of_runs_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("these are no runs, but a text that is long enough for a page of SQLite")
    with pytest.raises(SlotwiseError, match="cannot be used"):
        Recorder.started(text, HEAD)
    with pytest.raises(SlotwiseError, match="no runs are kept there"):
        Runs.opened(tmp_path / "none.db").__enter__()
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(SlotwiseError, match="version 99"):
        Recorder.started(other, HEAD)


def test_what_cannot_be_written_is_told_once_and_the_run_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = Recorder.started(tmp_path / "runs.db", HEAD, told.append)
    connection = sqlite3.connect(tmp_path / "runs.db")
    connection.execute("DROP TABLE points")
    connection.close()
    recorder.saw(1.0, PLAN, seen_at(1))
    recorder._thread.join(10)
    for second in range(1000):
        recorder.saw(float(second), PLAN, seen_at(second))
    recorder.end()
    assert len(told) == 1
    assert "no longer recorded" in told[0]


def test_a_recommendation_that_stands_is_kept_once(tmp_path: Path) -> None:
    with live_run(tmp_path, PLAN, "model-driven", factor=2) as run:
        run.loop.rules = replace(run.loop.rules, apply="never")
        for _ in range(10):
            run.period()
    with Runs.opened(run.path) as runs:
        decisions = runs.decisions(1)
        assert [each["outcome"] for each in decisions] == ["recommended"]
        assert runs.run(1).recommended == decisions[0]["plan"] == 2
        (mark,) = runs.marks(1)
        assert (mark["kind"], mark["at_s"]) == ("decision", decisions[0]["at_s"])
        assert mark["text"] == f"recommended: {decisions[0]['reason']}"
        assert sorted(runs.plans(1)) == [1, 2]


def test_the_plan_is_the_one_that_was_recorded(tmp_path: Path) -> None:
    from slotwise.spec.plan_json import plan_from_json

    with live_run(tmp_path, PLAN) as run:
        run.period()
    with Runs.opened(run.path) as runs:
        assert plan_from_json(runs.plan_text(1, 1)) == PLAN
