"""Killed processes: the run goes on, no id is missing, keyed counts are exact."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.cli import INTERRUPTED
from slotwise.model import Grouping, Logic, SlotwiseError
from slotwise.spark import daemons, meters
from slotwise.spark.supervise import recover, supervise
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RECORDS = 1500
KEYS = 5
RATE = 100


def counted(records: int = RECORDS) -> Any:
    """Words counted by key, and beside them every id."""
    source = Logic(expr=f"CAST(id % {KEYS} AS STRING)", options=(("records", str(records)),))
    count = Logic(aggregate=(("by", "value"), ("n", "count(*)")))
    return topology(
        "s>c",
        "c>k",
        "s>z",
        logic={"s": source, "c": count},
        groupings={"s>c": Grouping("fields", ("value",))},
    )


def ids(folder: Path) -> set[int]:
    return {row["id"] for row in written(folder) if row["_sink"] == "z"}


def check(folder: Path) -> None:
    """No id is missing up to the last one, and every key was counted as often as it came."""
    seen = ids(folder)
    assert seen == set(range(len(seen)))
    counts: Counter[str] = Counter()
    for row in written(folder):
        if row["_sink"] == "k":
            counts[row["record1"]["value"]] = max(
                counts[row["record1"]["value"]], row["record1"]["n"]
            )
    assert counts == Counter(str(id % KEYS) for id in seen)


def test_a_killed_executor(spark: SparkSession, tmp_path: Path) -> None:
    made = plan(counted(), {"c": 3}, on=MODEL, rate=300)
    with running(spark, made, tmp_path) as run:
        run.await_batch()
        run.await_tuples()
        victim = next(e for e in meters.snapshot(spark).executors if e.slot == 1)
        os.kill(victim.pid, signal.SIGKILL)

        def all_there() -> bool:
            if not run.query.isActive:
                recover(run, failures=1, tries=3)
            return ids(tmp_path) == set(range(RECORDS))

        wait_until(all_there, seconds=120)
        run.await_batch()
    check(tmp_path)
    assert "was lost" in run.events[0]


def test_a_query_that_always_fails_is_given_up(spark: SparkSession, tmp_path: Path) -> None:
    of = topology("s>a", logic={"a": Logic(expr="CAST(1 DIV (id - 5) AS STRING)")})
    with (
        running(spark, plan(of, on=MODEL, rate=100), tmp_path) as run,
        pytest.raises(SlotwiseError, match="operator 'a', thread 0: Division by zero"),
    ):
        supervise(run, 60, tries=1)


def test_a_checkpoint_of_another_topology_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with running(spark, plan(topology("s>a"), on=MODEL), tmp_path):
        pass
    with (
        pytest.raises(SlotwiseError, match="belongs to another topology, 'test'"),
        running(spark, plan(topology("s>b", name="other"), on=MODEL), tmp_path),
    ):
        pass


SPEC = f"""
topology:
  name: counted
  operators:
    s: {{kind: source, expr: "CAST(id % {KEYS} AS STRING)"}}
    c: {{aggregate: {{by: value, n: count(*)}}}}
    k: {{kind: sink}}
    z: {{kind: sink}}
  streams:
    - {{from: s, to: c, grouping: {{fields: value}}}}
    - {{from: c, to: k}}
    - {{from: s, to: z}}
profiles:
  s: {{fixed: {{cpu: 0.1}}}}
  c: {{fixed: {{threads: 2, cpu: 0.2}}}}
  k: {{fixed: {{cpu: 0.1}}}}
  z: {{fixed: {{cpu: 0.1}}}}
cluster:
  - {{name: left, slots: 1, memory_gb: 1}}
  - {{name: right, slots: 1, memory_gb: 1}}
scheduler: {{placer: round-robin}}
"""


def command(folder: Path, seconds: int, spec: str = SPEC) -> subprocess.Popen[str]:
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    program = "import sys; from slotwise.cli import run; sys.exit(run(sys.argv[1:]))"
    arguments = [
        "run",
        str(folder / "spec.yaml"),
        "--rate",
        str(RATE),
        "--for",
        f"{seconds}s",
        "--batch",
        "2s",
        "--checkpoint",
        str(folder / "checkpoint"),
        "--output",
        str(folder / "out"),
        "--json",
    ]
    with (folder / "told").open("w") as told:
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )


def told(folder: Path) -> str:
    """What the last command has told on its way."""
    return (folder / "told").read_text(encoding="utf-8")


def clusters(pid: int) -> list[Path]:
    """The folders of a program's clusters."""
    return list(Path(tempfile.gettempdir()).glob(f"{daemons.PREFIX}{pid}-*"))


@contextmanager
def writing(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, once it is watched and has written something; killed at the end if it still
    runs.
    """
    before = len(written(folder))
    started = command(folder, 600)

    def goes_on() -> bool:
        assert started.poll() is None, told(folder)
        return "start-up: " in told(folder) and len(written(folder)) > before

    try:
        wait_until(goes_on, seconds=150)
        yield started
    finally:
        started.kill()
        started.communicate()


def test_the_driver_killed_then_a_worker_killed_then_ctrl_c(tmp_path: Path) -> None:
    with writing(tmp_path) as first:
        children = psutil.Process(first.pid).children(recursive=True)
        assert children
    wait_until(lambda: not any(child.is_running() for child in children))
    with writing(tmp_path) as second:
        worker = next(
            child
            for child in psutil.Process(second.pid).children(recursive=True)
            if any(part.endswith("worker.Worker") for part in child.cmdline())
        )
        before = len(ids(tmp_path))
        worker.kill()
        wait_until(lambda: len(ids(tmp_path)) > before + 10 * RATE, seconds=120)
        second.send_signal(signal.SIGINT)
        answer, _ = second.communicate(timeout=60)
        assert second.returncode == INTERRUPTED, told(tmp_path)
    check(tmp_path)
    assert any("has no executor" in event for event in json.loads(answer)["events"]), told(tmp_path)


def test_sql_that_does_not_parse_leaves_nothing(tmp_path: Path) -> None:
    started = command(tmp_path, 10, SPEC.replace("n: count(*)", "n: count(("))
    wait_until(lambda: clusters(started.pid))
    answer, _ = started.communicate(timeout=120)
    assert started.returncode == 1
    assert answer == ""
    assert "slotwise: operator 'c': Syntax error" in told(tmp_path).splitlines()[-1]
    assert not clusters(started.pid)
    assert not (tmp_path / "checkpoint").exists()
