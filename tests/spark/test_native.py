"""Operators in Java, compiled here: what they compute, in real-time mode, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Logic, SlotwiseError, Topology
from slotwise.spark.metering import meters
from slotwise.spark.query.compile import compile
from slotwise.spark.query.outline import outline
from tests.spark import native
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RECORDS = 200
SOURCES = {
    "Doubled": native.function(
        *("Doubled", "MapFunction", "Row"),
        'long n = row.<Long>getAs("n");\n'
        'if (n == 50) { throw new IllegalStateException("no fifties"); }\n'
        "return RowFactory.create(2 * n, calls);",
    ),
    "Twice": native.function(
        *("Twice", "FlatMapFunction", "Iterator<Row>"),
        'Row made = RowFactory.create(row.<Long>getAs("n"), calls);\n'
        "return List.of(made, made).iterator();",
    ),
    "Even": native.function(
        "Even", "FilterFunction", "boolean", 'return row.<Long>getAs("n") % 2 == 0;'
    ),
}
MADE = "n BIGINT, calls INT"


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    native.add_jar(spark, tmp_path_factory.mktemp("native"), **SOURCES)
    return spark


def in_java(**logic: Logic) -> Topology:
    given = {
        "s": Logic(expr="struct(id AS n)", options=(("records", str(RECORDS)),)),
        "even": Logic(java="org.example.Even"),
        "twice": Logic(java="org.example.Twice", flat=True, schema=MADE),
        "doubled": Logic(java="org.example.Doubled", schema=MADE, on_error="skip"),
    }
    return topology(
        "s>even", "even>twice", "s>doubled", "twice>k", "doubled>k", logic=given | logic
    )


def test_classes_compute_in_real_time_mode(session: SparkSession, tmp_path: Path) -> None:
    made = plan(in_java(), {"doubled": 2}, on=MODEL, rate=200)
    with running(session, made, tmp_path) as run:
        assert run.outline.mode == "real-time"
        wait_until(lambda: len(written(tmp_path)) >= 2 * RECORDS - 1, query=run.query)
        assert run.threads_in_place() == (6, 6)

        def failures() -> int:
            mine = (m for m in meters.snapshot(session).threads if m.query == str(run.query.id))
            return sum(each.failures for each in mine)

        wait_until(lambda: failures() == 1)
    rows = written(tmp_path)
    found = sorted((row["id"], row["n"]) for row in rows)
    doubled = [(n, 2 * n) for n in range(RECORDS) if n != 50]
    assert found == sorted(doubled + [(n, n) for n in range(0, RECORDS, 2) for _ in range(2)])
    assert max(row["calls"] for row in rows) > 1  # an object is there for many tuples


@pytest.mark.parametrize(
    ("logic", "sentence"),
    [
        (Logic(java="org.example.None"), "there is no class 'org.example.None' in the spec's jars"),
        (Logic(java="java.lang.String"), "java.lang.String is none of Spark's functions of rows"),
        (Logic(java="org.example.Doubled"), "is a MapFunction: say which fields its tuples have"),
        (Logic(java="org.example.Twice", schema=MADE), "is a FlatMapFunction: set flat: true"),
        (
            Logic(java="org.example.Doubled", schema=MADE, flat=True),
            "is a MapFunction: remove flat",
        ),
        (Logic(java="org.example.Even", schema=MADE), "sends tuples on as they are: remove schema"),
        (Logic(java="org.example.Doubled", schema="n"), "its schema: "),
        (Logic(java="org.example.Even", where="true"), "has both where and java: keep one"),
    ],
)
def test_what_is_wrong_is_one_sentence(session: SparkSession, logic: Logic, sentence: str) -> None:
    with pytest.raises(SlotwiseError, match="operator 'doubled'.*" + re.escape(sentence)):
        compile(session, outline(plan(in_java(doubled=logic), on=MODEL)), work="none")
