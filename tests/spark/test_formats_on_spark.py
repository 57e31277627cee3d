"""Formats of sources that Spark reads in micro-batches, and dead letters in files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Logic
from slotwise.spark.supervise import supervise
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written
from tests.spark.test_sinks import lose_an_executor

pytestmark = pytest.mark.cluster

COUNTRIES = ("at", "de", "fr")
LINES = [f"{n};{country}" for n, country in enumerate(COUNTRIES)]
SCHEMA = "n BIGINT, country STRING"
RECORDS = 600


def rows(folder: Path, sink: str) -> list[dict[str, Any]]:
    return read((folder / "out" / sink).glob("batch-*.json"))


def read(files: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(files) for line in file.read_text().splitlines()]


def source(kind: str, folder: Path) -> Logic:
    options: Sequence[tuple[str, str]] = (("path", str(folder)),)
    if kind == "csv":
        options = (*options, ("sep", ";"))
    return Logic(format=kind, options=tuple(options), schema=None if kind == "text" else SCHEMA)


def test_each_format_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """Of files and of Spark's own source, side by side in one query, as far as each has written."""
    folders = {kind: tmp_path / kind for kind in ("csv", "text", "parquet", "orc")}
    for folder in folders.values():
        folder.mkdir()
    for kind in ("csv", "text"):
        (folders[kind] / "lines").write_text("\n".join(LINES))
    table = pyarrow.table({"n": range(len(COUNTRIES)), "country": COUNTRIES})
    parquet.write_table(table, folders["parquet"] / "table.parquet")
    spark.createDataFrame(list(enumerate(COUNTRIES)), SCHEMA).coalesce(1).write.mode("append").orc(
        str(folders["orc"])
    )
    logic = {kind: source(kind, folder) for kind, folder in folders.items()}
    logic["rate"] = Logic(format="rate", options=(("rowsPerSecond", "20"),))
    # Each sink says where it writes: so each has the fields of its own source, and no others.
    for kind in list(logic):
        path = str(tmp_path / "out" / kind)
        logic[f"of-{kind}"] = Logic(format="json", options=(("path", path),))
    of = topology(*(f"{kind}>of-{kind}" for kind in (*folders, "rate")), logic=logic)
    with running(spark, plan(of, on=MODEL), tmp_path) as run:
        assert run.outline.mode == "micro-batch"
        wait_until(lambda: len(rows(tmp_path, "rate")) > 20, query=run.query)
        for kind in folders:
            wait_until(lambda k=kind: len(rows(tmp_path, k)) == len(COUNTRIES), query=run.query)
        assert run.threads_in_place() == (10, 10)
    for kind, folder in folders.items():
        found = rows(tmp_path, kind)
        if kind == "text":
            assert sorted(row["value"] for row in found) == LINES
        else:
            assert sorted((row["n"], row["country"]) for row in found) == list(enumerate(COUNTRIES))
        assert len({row["id"] for row in found}) == len(COUNTRIES)
        (file,) = (file for file in folder.iterdir() if file.name[0] not in "._")
        modified_ms = file.stat().st_mtime_ns // 1_000_000
        assert {row["ts"] // 1000 for row in found} == {modified_ms}
    counted = rows(tmp_path, "rate")
    assert all(row["id"] == row["value"] for row in counted)
    assert sorted(row["id"] for row in counted) == list(range(len(counted)))


def test_files_in_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    given = tmp_path / "in"
    given.mkdir()
    options = (("path", str(given)), ("maxFilesPerTrigger", "1"))
    source = Logic(format="json", schema="n BIGINT, at TIMESTAMP", options=options, event_time="at")
    alone = topology("s>a", "a>k", logic={"s": source, "a": Logic(expr="n")})
    with running(spark, plan(alone, 2, on=MODEL), tmp_path) as run:
        for number in range(3):
            lines = [
                json.dumps({"n": n, "at": "2026-01-01T00:00:00Z"})
                for n in range(number * 10, number * 10 + 10)
            ]
            (given / f"{number}.json").write_text("\n".join(lines))
        wait_until(lambda: run.tick() or len(written(tmp_path)) == 30, query=run.query)
        assert run.outline.mode == "micro-batch"
        assert run.threads_in_place() == (6, 6)
    rows = written(tmp_path)
    assert sorted(row["value"] for row in rows) == list(range(30))
    assert len({row["id"] for row in rows}) == 30
    assert {row["ts"] for row in rows} == {1767225600_000_000}


def test_dead_letters_in_files_are_there_once(spark: SparkSession, tmp_path: Path) -> None:
    """Also while an executor is killed."""
    letters = tmp_path / "letters"
    of = topology(
        *("s>a", "a>k"),
        logic={
            "s": Logic(expr="struct(id AS n)", options=(("records", str(RECORDS)),)),
            "a": Logic(expr="struct(60 DIV (n % 10 - 3) AS m)", on_error="skip"),
        },
    )
    of = replace(of, dead_letters=Logic(format="json", options=(("path", str(letters)),)))

    def ids() -> list[int]:
        return sorted(letter["id"] for letter in read(letters.glob("a/batch-*.json")))

    wanted = list(range(3, RECORDS, 10))
    with running(spark, plan(of, {"a": 2}, on=MODEL, rate=100), tmp_path) as run:
        wait_until(lambda: run.tick() or len(ids()) > 5, query=run.query)
        lose_an_executor(spark)
        wait_until(lambda: supervise(run, 1) or (run.events and ids() == wanted), seconds=120)
        assert "was lost" in run.events[0]
    assert ids() == wanted
    for letter in read(letters.glob("a/batch-*.json")):
        assert (letter["operator"], letter["record"]) == ("a", {"n": letter["id"]})
        assert "Division by zero" in letter["reason"]
