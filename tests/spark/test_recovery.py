"""Killed processes: the run goes on, no id is missing, keyed counts are exact."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Grouping, Logic, SlotwiseError
from slotwise.spark.metering import meters
from slotwise.spark.supervise import recover, supervise
from slotwise.spark.waiting import await_batch, await_tuples
from tests.spark.conftest import MODEL, wait_until
from tests.spark.counting import (
    KEYS,
    SPEC,
    check,
    command,
    folders,
    ids,
    told,
)
from tests.spark.plans import plan, topology
from tests.spark.running import running

pytestmark = pytest.mark.cluster

RECORDS = 1500


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


def test_a_killed_executor(spark: SparkSession, tmp_path: Path) -> None:
    made = plan(counted(), {"c": 3}, on=MODEL, rate=300)
    with running(spark, made, tmp_path) as run:
        await_batch(run)
        await_tuples(run)
        victim = next(e for e in meters.snapshot(spark).executors if e.slot == 1)
        os.kill(victim.pid, signal.SIGKILL)

        def all_there() -> bool:
            if not run.query.isActive:
                recover(run)
            return ids(tmp_path) == set(range(RECORDS))

        wait_until(all_there, seconds=120)
        await_batch(run)
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


@contextmanager
def small_disk(at: Path) -> Iterator[None]:
    """A disk of 160 kB."""
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "small", str(at)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk may not be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@pytest.mark.parametrize("full", ["out", "checkpoint"])
def test_a_full_disk_is_told_and_a_larger_one_goes_on(
    full: str, spark: SparkSession, tmp_path: Path
) -> None:
    made = plan(counted(), {"c": 3}, on=MODEL, rate=3000)
    with small_disk(tmp_path / full):
        with (
            pytest.raises(SlotwiseError, match="No space left on device"),
            running(spark, made, tmp_path) as run,
        ):
            supervise(run, 120, tries=0)
        shutil.copytree(tmp_path / full, tmp_path / "kept")
    shutil.copytree(tmp_path / "kept", tmp_path / full, dirs_exist_ok=True)
    with running(spark, made, tmp_path):
        wait_until(lambda: ids(tmp_path) == set(range(RECORDS)))
    check(tmp_path)


def test_sql_that_does_not_parse_starts_no_cluster(tmp_path: Path) -> None:
    started = command(tmp_path, 10, SPEC.replace("n: count(*)", "n: count(("))
    answer, _ = started.communicate(timeout=120)
    assert started.returncode == 1
    assert answer == ""
    last = told(tmp_path).splitlines()[-1]
    assert last.startswith("slotwise: operator 'c': its result 'n' is count((: Syntax error")
    assert "cluster" not in told(tmp_path)
    assert not folders(started.pid)
    assert not (tmp_path / "checkpoint").exists()
