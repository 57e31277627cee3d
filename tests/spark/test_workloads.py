"""Every bundled example on a real cluster gives what plain Python makes of the same lines."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise import workloads
from slotwise.model import Topology
from slotwise.paced import data_set
from slotwise.spark import provided
from slotwise.spec import load
from slotwise.workloads import data, store
from slotwise.workloads.data import leaving_tweets
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plain import EXAMPLES, Record, Row, maximal_patterns
from tests.spark.plans import plan
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RATE = 400.0


@pytest.fixture(scope="module")
def quick_store() -> Iterator[str]:
    quick = store.Latency(1)
    with store.serving(blobs=quick, rows=quick) as address:
        yield address


@pytest.fixture
def surroundings(spark: SparkSession, quick_store: str, tmp_path: Path) -> Iterator[None]:
    settings = {
        provided.SERVICE + "store": quick_store,
        provided.FILES: str(tmp_path / "files"),
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


def limited(of: Topology, records: int) -> Topology:
    """The topology, whose source ends after so many records."""
    more = (("records", str(records)),)
    operators = tuple(
        replace(o, logic=replace(o.logic, options=o.logic.options + more))
        if o.kind == "source"
        else o
        for o in of.operators
    )
    return replace(of, operators=operators)


def input_of(of: Topology, records: int) -> list[Record]:
    name = data_set(dict(of.sources[0].logic.options)["payload"])
    lines = itertools.cycle(list(data.lines(name))) if name else map(str, itertools.count())
    return list(enumerate(itertools.islice(lines, records)))


def as_row(found: dict[str, Any]) -> Row:
    """Tuples of different types are columns of their own; here all are alike."""
    fields: dict[str, Any] = {}
    for name, value in found.items():
        if name not in ("_sink", "_thread", "id", "ts") and value is not None:
            fields |= value if isinstance(value, dict) else {name: value}
    return found["_sink"], found["id"], fields


def in_order(rows: list[Row]) -> list[Row]:
    """By sink, id and fields, floats to six digits: the last ones may differ."""

    def rank(row: Row) -> tuple[str, int, str]:
        sink, id, fields = row
        rounded = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in fields.items()}
        return sink, id, json.dumps(rounded, sort_keys=True)

    return sorted(rows, key=rank)


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return found.keys() == expected.keys() and all(
        found[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
        if isinstance(value, float)
        else found[name] == value
        for name, value in expected.items()
    )


def test_every_example_is_here() -> None:
    """`loop` needs a broker: see test_links."""
    assert {*EXAMPLES, "fpd", "loop"} == set(workloads.names())


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_computes_what_plain_python_does(
    name: str, spark: SparkSession, surroundings: None, tmp_path: Path
) -> None:
    records, compute = EXAMPLES[name]
    of = limited(load(name).topology, records)
    expected = list(compute(input_of(of, records)))
    assert expected
    with running(spark, plan(of, on=MODEL, rate=RATE), tmp_path) as run:
        wait_until(lambda: len(written(tmp_path)) >= len(expected), query=run.query)
    found = in_order([as_row(row) for row in written(tmp_path)])
    assert len(found) == len(expected)
    for got, wanted in zip(found, in_order(expected), strict=True):
        assert got[:2] == wanted[:2]
        assert same(got[2], wanted[2]), f"{got} is not {wanted}"


def test_frequent_patterns_are_those_of_the_window(spark: SparkSession, tmp_path: Path) -> None:
    """Which are maximal when all tweets have come does not depend on their order."""
    pipeline, records = load("fpd"), leaving_tweets.WINDOW + 200
    of = limited(pipeline.topology, records)
    window = [line for _, line in input_of(of, records)[-leaving_tweets.WINDOW :]]
    expected = maximal_patterns(window)
    assert any(" " in pattern for pattern in expected)
    made = plan(of, on=MODEL, rate=RATE, engine=pipeline.engine)
    with running(spark, made, tmp_path) as run:
        wait_until(lambda: maximal_now(written(tmp_path)) == expected, query=run.query)


def maximal_now(rows: list[dict[str, Any]]) -> set[str]:
    """By the last change of each pattern."""
    last = {row["pattern"]: row for row in sorted(rows, key=lambda row: row["change"])}
    return {pattern for pattern, row in last.items() if row["is_maximal"]}
