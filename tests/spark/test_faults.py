"""Faults in the middle of a change: the run goes on with its last good plan and loses nothing."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark")


from pyspark.sql import SparkSession

import slotwise
from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.adaptation_journal import journaled
from slotwise.cli import INTERRUPTED
from slotwise.control_file import control_of
from slotwise.controllers.base import Situation
from slotwise.model import Decision, Plan
from slotwise.recording import read_recording
from slotwise.spark.cluster import Machines, machines, processes
from slotwise.spark.metering import meters
from slotwise.spark.run import Run
from slotwise.spark.waiting import await_batch, await_tuples
from slotwise.spec.plan_json import plan_to_json
from tests.spark.conftest import MODEL, wait_until
from tests.spark.counting import SPEC, check, ids, told, workers, writing
from tests.spark.elastic import MORE
from tests.spark.plans import plan
from tests.spark.running import running
from tests.spark.test_recovery import counted

pytestmark = pytest.mark.cluster

RATE = 200.0
STREAM = counted(records=10**9)
FEW = plan(STREAM, {"c": 2}, on=MODEL, rate=RATE)
MANY = plan(STREAM, {"c": 2, "z": 3}, on=MORE, rate=RATE)
"""On one more machine, with other threads: a restart."""


class Wanted:
    """Changes to a plan until it is in effect."""

    name = "wanted"
    plan: Plan | None = None

    def decide(self, situation: Situation) -> Decision:
        if self.plan is None or self.plan is situation.plan:
            return Decision.keep("nothing else is wanted")
        return Decision.change(situation.plan, self.plan, "it is wanted", 3.0)


def is_adding(run: Run) -> bool:
    """A machine comes up that the plan in effect has not."""
    assert run.machines is not None
    return set(run.machines.host_of) > set(run.plan.cluster.nodes)


def has_gone_over(run: Run) -> bool:
    """The query was started as newly planned."""
    return run.plan is MANY


def kill_executor(run: Run) -> None:
    """That of some slot."""
    victim = max(meters.snapshot(run.spark).executors, key=lambda executor: executor.slot)
    os.kill(victim.pid, signal.SIGKILL)


def kill_worker(run: Run) -> None:
    """That of the first node."""
    assert run.machines is not None
    daemons = run.machines.cluster.daemons
    assert daemons is not None
    os.kill(daemons.pids[1], signal.SIGKILL)


def once(run: Run, when: Callable[[Run], bool], fault: Callable[[Run], None]) -> list[float]:
    """While the run waits for something, at the first moment when that holds; when that was."""
    happened: list[float] = []

    def look(run: Run) -> None:
        if when(run):
            run.each_report = lambda run: None
            happened.append(run.now_s())
            fault(run)

    run.each_report = look
    return happened


def sentences(steps: Sequence[Step]) -> str:
    return "\n".join(event for step in steps for event in step.events)


@dataclass
class Driven:
    """A run under a controller that wants what the test wants."""

    run: Run
    wanted: Wanted
    steps: Iterator[Step]
    seen: list[Step] = field(default_factory=list)

    def until(self, *outcomes: str) -> Step:
        for step in self.steps:
            self.seen.append(step)
            if step.outcome in outcomes:
                return step
        raise AssertionError("the run has ended")


@contextmanager
def driven(spark: SparkSession, folder: Path, elastic: Machines) -> Iterator[Driven]:
    with running(spark, FEW, folder, machines=elastic) as run:
        await_tuples(run)
        wanted = Wanted()
        rules = Rules(period_s=1.0, warm_up_s=1.0, changes_per_hour=100, back_off_s=0.0)
        loop = Adaptation(run, wanted, FEW.pipeline.goals, rules)
        yield Driven(run, wanted, journaled(loop, 600, folder / "decisions.jsonl"))
        await_batch(run)
    check(folder)
    check_journal(folder / "decisions.jsonl")


def check_journal(path: Path) -> None:
    """One change after the other: each is in effect before the next one is decided. Nothing is
    decided on what was seen before a change, or soon after it.
    """
    steps, changed_s = read_recording(path).steps, 0.0
    made = [(step.at_s, step.change.at_s) for step in steps if step.change is not None]
    assert all(decided_s < in_effect_s for decided_s, in_effect_s in made)
    assert all(first[1] <= later[0] for first, later in itertools.pairwise(made))
    for step in steps:
        if step.decision is not None:
            assert step.seen is not None
            assert step.seen.start_s is not None
            assert changed_s == 0 or step.seen.start_s >= changed_s + 1 - 1e-6
        if step.change is not None:
            changed_s = step.change.at_s


def test_processes_are_killed_while_machines_come_and_plans_change(
    spark: SparkSession, elastic: Machines, tmp_path: Path
) -> None:
    """A change is refused if its query failed meanwhile; a fault may also be made good in time."""
    with driven(spark, tmp_path, elastic) as it:
        it.until("kept")
        for when, fault in (
            (is_adding, kill_executor),
            (is_adding, kill_worker),
            (has_gone_over, kill_executor),
        ):
            killed = once(it.run, when, fault)
            while not killed:
                it.wanted.plan = MANY
                step = it.until("refused", "applied")
                if step.outcome == "refused":
                    assert "was lost" in step.note
                    assert step.events[-1] == "node 'more' was given back"
                assert it.run.plan is (MANY if step.outcome == "applied" else FEW)
                it.wanted.plan = FEW
                if it.run.plan is MANY:
                    it.until("applied")
                it.until("kept")
        everywhere = it.run.outline.layout.slots(FEW.placement)
        wait_until(lambda: it.run.whereabouts().levels == everywhere)
    assert "node 'left' was lost and is started again" in sentences(it.seen)


def test_what_is_refused_or_does_not_come_up_leaves_the_last_plan(
    spark: SparkSession, elastic: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded = plan(STREAM, {"c": 2, "z": 200}, on=MODEL, rate=RATE)
    threads = plan(STREAM, {"c": 2, "z": 2}, on=MODEL, rate=RATE)
    with driven(spark, tmp_path, elastic) as it:
        it.until("kept")
        it.wanted.plan = crowded
        refused = it.until("refused")
        assert "and has room for 64" in refused.note
        assert it.run.query.isActive

        it.wanted.plan = threads
        restart = it.run.restart

        def refused_by_spark() -> None:
            it.run.restart = restart  # type: ignore[method-assign]
            shortest = "spark.sql.streaming.realTimeMode.minBatchDuration"
            spark.conf.set(shortest, "60000")
            try:
                restart()
            finally:
                spark.conf.set(shortest, "1000")

        it.run.restart = refused_by_spark  # type: ignore[method-assign]
        refused = it.until("refused")
        assert refused.note.startswith("Spark refuses 'test': ")
        assert refused.note.endswith("; the run went back to its last plan")
        assert it.run.plan is FEW

        it.wanted.plan = MANY
        monkeypatch.setattr(machines, "START_S", 3.0)
        monkeypatch.setattr(processes, "STOP_SECONDS", 1)
        start = it.run.machines.daemons.start  # type: ignore[union-attr]

        def hang(worker: object) -> None:
            start(worker)
            os.kill(it.run.machines.daemons.pids[-1], signal.SIGSTOP)  # type: ignore[union-attr]

        monkeypatch.setattr(it.run.machines.daemons, "start", hang)  # type: ignore[union-attr]
        refused = it.until("refused")
        assert refused.note.startswith("node 'more' has 0 of 1 executors after 3 s")
        assert it.run.plan is FEW
        it.wanted.plan = None
        it.until("kept")


def test_nothing_is_decided_while_meters_are_silent(
    spark: SparkSession, elastic: Machines, tmp_path: Path
) -> None:
    threads = plan(STREAM, {"c": 2, "z": 2}, on=MODEL, rate=RATE)
    with driven(spark, tmp_path, elastic) as it:
        it.until("kept")
        for slots in ({1}, {0, 1, 2}):
            stopped = [e.pid for e in meters.snapshot(spark).executors if e.slot in slots]
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            try:
                silent = r"slot \w+/\d has reported nothing for \d+ s"
                while not re.match(silent, it.until("not observed").note):
                    pass
                it.wanted.plan = threads
                assert next(it.steps).decision is None
            finally:
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
            it.wanted.plan = None
            it.until("kept")
            assert it.run.plan is FEW


ADAPTING = (
    *("--controller", "static", "--period", "1s", "--warm-up", "1s"),
    *("--decisions", "decisions.jsonl"),
)


def test_the_driver_is_killed_in_a_change_then_a_worker_then_ctrl_c_in_another_change(
    tmp_path: Path,
) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    spec = slotwise.load(tmp_path / "spec.yaml")
    assert spec.cluster is not None
    nodes = spec.cluster.nodes
    more = replace(spec.cluster, nodes=(*nodes, replace(nodes[0], name="more")))
    for name, threads, on in (("two", 2, spec.cluster), ("three", 3, more)):
        made = replace(plan(spec.topology, {"c": 2, "z": threads}, on=on), pipeline=spec)
        (tmp_path / f"{name}.json").write_text(plan_to_json(made))
    journal, control = tmp_path / "decisions.jsonl", control_of(tmp_path / "checkpoint")

    def force(name: str, id: str) -> None:
        text = json.dumps({"force": {"id": id, "plan": f"{name}.json"}})
        control.with_suffix(".new").write_text(text)
        control.with_suffix(".new").rename(control)

    def steps() -> Sequence[Step]:
        has_begun = journal.exists() and journal.stat().st_size
        return read_recording(journal).steps if has_begun else ()

    def have_been(*outcomes: str) -> bool:
        return {step.outcome for step in steps()} >= set(outcomes)

    with writing(tmp_path, *ADAPTING) as first:
        force("two", "first")
        wait_until(lambda: have_been("applied"))
        force("three", "second")
        wait_until(lambda: len(workers(first.pid)) == 3)
        children = psutil.Process(first.pid).children(recursive=True)
    wait_until(lambda: not any(child.is_running() for child in children))
    before = read_recording(journal)
    # What it was about to do is in the journal, and is not done again by the next run.
    assert before.unfinished is not None
    assert before.unfinished.forced
    assert before.unfinished.decision.plan is not None
    assert before.unfinished.decision.plan.threads["z"] == 3
    with writing(tmp_path, *ADAPTING) as second:
        assert "goes on with the last plan of its checkpoint: z: 1 → 2 threads" in told(tmp_path)
        wait_until(lambda: have_been("kept"))
        assert not any(step.forced for step in steps())
        workers(second.pid)[0].kill()
        wait_until(lambda: "was lost and is started again" in sentences(steps()), seconds=120)
        seen = len(ids(tmp_path))
        wait_until(lambda: len(ids(tmp_path)) > seen, seconds=120)
        wait_until(lambda: len(workers(second.pid)) == 2)
        force("three", "third")
        wait_until(lambda: len(workers(second.pid)) == 3)
        children = psutil.Process(second.pid).children(recursive=True)
        second.send_signal(signal.SIGINT)
        answer, _ = second.communicate(timeout=60)
    assert second.returncode == INTERRUPTED, told(tmp_path)
    wait_until(lambda: not any(child.is_running() for child in children), seconds=10)
    assert json.loads(answer)["adaptation"]["threads"]["z"] == 2
    after = read_recording(journal)
    assert read_recording(tmp_path / "decisions-1.jsonl") == before
    assert {step.plan.threads["z"] for step in after.steps} == {2}
    assert after.steps[-1].outcome == "refused"
    assert "was ended" in after.steps[-1].note
    check(tmp_path)
