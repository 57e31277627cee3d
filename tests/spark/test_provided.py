"""Services and the folder that expressions name: there while the query runs, and gone after."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Logic, SlotwiseError
from slotwise.spark.provided import FILES, SERVICE, provided, services_of
from slotwise.spark.query.outline import outline
from slotwise.spark.start_up import launched
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written


def one(expr: str) -> object:
    return topology("s>a", "a>k", logic={"a": Logic(expr=expr)})


def test_services_are_found_in_expressions() -> None:
    of = one("concat(service_url('store'), service_url( 'store' ), service_url(value))")
    assert services_of(of) == ["store"]  # type: ignore[arg-type]
    assert services_of(one("value")) == []  # type: ignore[arg-type]


def test_an_unknown_service_is_refused_before_anything_starts() -> None:
    of = plan(one("service_url('stor')"), on=MODEL)  # type: ignore[arg-type]
    with (
        pytest.raises(SlotwiseError, match="unknown service 'stor': did you mean 'store'"),
        launched(outline(of)),
    ):
        pass


@pytest.mark.cluster
def test_settings_last_as_long_as_the_query(spark: SparkSession) -> None:
    of = one("concat(service_url('store'), write_lines(value, 10))")
    with provided(spark, of):  # type: ignore[arg-type]
        folder = Path(spark.conf.get(FILES) or "")
        assert folder.is_dir()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", spark.conf.get(SERVICE + "store") or "")
    assert not folder.exists()
    assert spark.conf.get(FILES, None) is None
    assert spark.conf.get(SERVICE + "store", None) is None


@pytest.mark.cluster
def test_lines_are_written_a_batch_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """All are in files once the tasks have ended, and none is there twice."""
    of = topology(
        "s>a",
        "a>k",
        logic={
            "s": Logic(options=(("records", "250"),)),
            "a": Logic(expr="write_lines(concat('line ', id), 100)"),
        },
    )
    files = tmp_path / "files"
    spark.conf.set(FILES, str(files))
    try:
        with running(spark, plan(of, {"a": 2}, on=MODEL, rate=500), tmp_path) as run:
            wait_until(lambda: len(written(tmp_path)) == 250, query=run.query)
    finally:
        spark.conf.unset(FILES)
    lines = [line for file in files.iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"line {id}" for id in range(250))


@pytest.mark.cluster
def test_the_state_of_threads(spark: SparkSession, tmp_path: Path) -> None:
    """By key, over batches, and apart for every thread."""
    state = (
        "struct(spark_partition_id() AS thread, id % 3 AS key,"
        " thread_count('n', CAST(id % 3 AS STRING)) AS n,"
        " thread_mean('m', CAST(id % 3 AS STRING), id, 2) AS mean,"
        " thread_previous('p', CAST(id % 3 AS STRING), CAST(id AS STRING)) AS previous,"
        " thread_top('t', CAST(id % 3 AS STRING), id, 2) AS top)"
    )
    source = Logic(options=(("records", "900"),))
    of = topology("s>a", "a>k", logic={"s": source, "a": Logic(expr=state)})
    with running(spark, plan(of, {"a": 2}, on=MODEL, rate=300), tmp_path) as run:
        wait_until(lambda: len(written(tmp_path)) == 900, query=run.query)
    rows = sorted(written(tmp_path), key=lambda row: row["id"])
    assert {row["thread"] for row in rows} == {0, 1}
    for thread in (0, 1):
        last: dict[int, list[int]] = {0: [], 1: [], 2: []}
        for row in (row for row in rows if row["thread"] == thread):
            own = last[row["key"]]
            own.append(row["id"])
            assert row["n"] == len(own)
            assert row["mean"] == sum(own[-2:]) / len(own[-2:])
            assert row.get("previous") == (str(own[-2]) if len(own) > 1 else None)
            ranked = sorted((k for k in last if last[k]), key=lambda k: -last[k][-1])
            assert row["top"] == ",".join(map(str, ranked[:2]))
