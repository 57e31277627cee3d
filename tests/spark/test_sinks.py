"""Several sinks of one query, while an executor is killed: what each of them guarantees."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Logic, SlotwiseError
from slotwise.spark.metering import meters
from slotwise.spark.query.compile import compile
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Run
from slotwise.spark.supervise import supervise
from tests.spark import native
from tests.spark.broker import Broker
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running

pytestmark = pytest.mark.cluster

RECORDS = 1000
FOLDER = Path()
"""Where `keep` writes to."""


def lose_an_executor(spark: SparkSession) -> None:
    victim = next(e for e in meters.snapshot(spark).executors if e.slot == 1)
    os.kill(victim.pid, signal.SIGKILL)


def until(run: Run, done: Any) -> None:
    wait_until(lambda: supervise(run, 1) or done(), seconds=120)


def lines_of(folder: Path, files: str) -> list[str]:
    return [line for file in sorted(folder.glob(files)) for line in file.read_text().splitlines()]


def in_lines(folder: Path) -> list[int]:
    rows = [json.loads(line) for line in lines_of(folder, "batch-*.json")]
    assert all(row["n"] == str(row["id"]) for row in rows)
    return [row["id"] for row in rows]


def in_parquet(folder: Path) -> list[int]:
    tables = [parquet.read_table(file) for file in sorted(folder.glob("batch-*.parquet"))]
    rows = [row for table in tables for row in table.to_pylist()]
    assert all(row["n"] == str(row["id"]) and row["at"].year >= 2020 for row in rows)
    return [row["id"] for row in rows]


def in_files(folder: Path) -> list[int]:
    lines = [line.split() for line in lines_of(folder, "lines-*")]
    assert all(id == n for id, n in lines)
    return [int(id) for id, _ in lines]


def test_every_sink_keeps_its_guarantee(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Files have each tuple once; topics and writers at least once, repeats with the same id."""
    writer = native.WRITER.format(folder=tmp_path)
    native.add_jar(spark, tmp_path, Lines=writer)
    topic = broker.create(spark, "of-sinks")
    servers = ("kafka.bootstrap.servers", broker.servers)
    sinks = {
        "json": (("path", str(tmp_path / "json")),),
        "parquet": (("path", str(tmp_path / "parquet")),),
        "kafka": (("topic", topic), servers),
        "foreach": (("class", "org.example.Lines"),),
        "console": (("numRows", "3"),),
    }
    record = "struct(CAST(id AS STRING) AS n, timestamp_micros(ts) AS at)"
    of = topology(
        *(f"s>{sink}" for sink in sinks),
        logic={
            "s": Logic(expr=record, options=(("records", str(RECORDS)),)),
            **{sink: Logic(format=sink, options=options) for sink, options in sinks.items()},
        },
    )

    def found() -> dict[str, list[int]]:
        return {
            "json": sorted(in_lines(tmp_path / "json")),
            "parquet": sorted(in_parquet(tmp_path / "parquet")),
            "foreach": sorted(set(in_files(tmp_path))),
            "kafka": sorted({int(m.headers["id"]) for m in broker.messages(spark, topic)}),
        }

    stream = spark._jvm.java.io.ByteArrayOutputStream()  # type: ignore[union-attr]
    system = spark._jvm.java.lang.System  # type: ignore[union-attr]
    before = system.err
    system.setErr(spark._jvm.java.io.PrintStream(stream, True))  # type: ignore[union-attr]
    try:
        with running(spark, plan(of, on=MODEL, rate=100), tmp_path) as run:
            wait_until(lambda: run.tick() or run.batch > 0, query=run.query)
            wait_until(lambda: len(in_files(tmp_path)) > 100)
            lose_an_executor(spark)
            until(run, lambda: all(ids == list(range(RECORDS)) for ids in found().values()))
            assert "was lost" in run.events[0]
            shown = stream.toString()
    finally:
        system.setErr(before)
    lines = [line for line in shown.splitlines() if line.startswith("console: ")]
    assert lines
    assert json.loads(lines[0].removeprefix("console: ")).keys() == {"id", "ts", "n", "at"}
    assert len(lines) <= 3 * (run.batch + len(run.events) + 1)


def keep(batch: pyarrow.RecordBatch) -> None:
    rows = "".join(f"{id} {id}\n" for id in batch.column("id").to_pylist())
    with (FOLDER / f"lines-{os.getpid()}").open("a") as file:
        file.write(rows)


def test_a_python_function_as_a_sink(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.FOLDER", tmp_path)
    of = topology(
        *("s>a", "a>k"),
        logic={
            "s": Logic(options=(("records", str(RECORDS)),)),
            "a": Logic(where="id % 4 > 0"),
            "k": Logic(format="foreach"),
        },
    )
    with running(spark, plan(of, on=MODEL, rate=200), tmp_path, bound={"k": keep}) as run:
        assert run.outline.mode == "micro-batch"
        wait_until(lambda: len(in_files(tmp_path)) > 100)
        lose_an_executor(spark)
        until(run, lambda: len(set(in_files(tmp_path))) == 3 * RECORDS // 4)
    assert set(in_files(tmp_path)) == {n for n in range(RECORDS) if n % 4}
    assert max(Counter(in_files(tmp_path)).values()) <= 1 + len(run.events)


def test_what_cannot_write_is_refused(spark: SparkSession) -> None:
    def refused(sentence: str, **logic: Any) -> None:
        of = topology("s>k", logic={"k": Logic(**logic)})
        with pytest.raises(SlotwiseError, match=re.escape(sentence)):
            compile(spark, outline(plan(of)), work="none")

    of_class = {"format": "foreach", "options": (("class", "java.lang.String"),)}
    refused("'k': java.lang.String is not a ForeachWriter", **of_class)
    refused("'k': its format is foreach: add python: module:function, or", format="foreach")
    refused("sink 'k' writes parquet: add the option 'path'", format="parquet")
    refused("numRows: many: expected an integer", format="console", options=(("numRows", "many"),))
