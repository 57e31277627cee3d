"""What users write, on a real cluster, against plain Python: keys, windows, names, UDFs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession, functions
from pyspark.sql.functions import udf
from pyspark.sql.types import IntegerType

from slotwise.model import Grouping, Join, Logic, Plan, Topology
from slotwise.model.pipeline import Engine
from slotwise.spark.metering import meters
from slotwise.spark.query.names import literal, quoted
from slotwise.spark.run import Run
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RECORDS = 2000
NASTY = 'it\'s `a.b`,\n\\ "c" ü ${spark.app.name} 漢'
MORE = NASTY + "'"
ANSWER = "n`s' \\"
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(max_examples=60, deadline=None)
@given(NAMES, NAMES)
def test_spark_reads_names_as_they_are(spark: SparkSession, name: str, text: str) -> None:
    parser: Any = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined]
    parsed = parser.parseExpression(f"named_struct({literal(text)}, {quoted(name)})")
    constant, attribute = (parsed.children().apply(n) for n in (0, 1))
    assert str(constant.value()) == text
    assert attribute.nameParts().mkString("\x00") == name


def named_anything() -> Topology:
    """Fields, operators, results and the topology have names that SQL would not read as they are.

    The aggregate's level also has the tuples for two operators that pass it.
    """
    record = (
        f"named_struct({literal(NASTY)}, named_struct('na me', concat('c', id % 5)), "
        "'at', timestamp_micros(id * 1000000), 'amount', id)"
    )
    keys = (f"upper({quoted(NASTY)}.`na me`)", "window(at, '100 seconds')")
    by = f"{keys[0]} AS {quoted(MORE)}, {keys[1]}"
    results = (("by", by), (ANSWER, "count(*)"), ("sum", "sum(amount)"))
    return topology(
        *(f"{MORE}>{operator}" for operator in (NASTY, "in windows", "beside")),
        logic={
            MORE: Logic(expr=record, options=(("records", str(RECORDS)),)),
            NASTY: Logic(aggregate=results, key_groups=4),
            "in windows": Logic(expr="window(at, '10 minutes').start"),
            "beside": Logic(expr=f"{quoted(NASTY)}.`na me`"),
        },
        groupings={
            f"{MORE}>{NASTY}": Grouping("fields", keys),
            f"{MORE}>beside": Grouping("fields", ("amount % 2",)),
        },
        name=NASTY,
    )


def test_keys_are_expressions_and_names_are_data(spark: SparkSession, tmp_path: Path) -> None:
    of = named_anything()
    made = plan(of, {NASTY: 2, "beside": 2}, on=MODEL, rate=2000)
    with running(spark, made, tmp_path) as run:
        wait_until(lambda: len(written(tmp_path)) >= 3 * RECORDS, query=run.query)
        wait_until(lambda: sum(arrived(spark, run, of.index[NASTY])) == RECORDS)
        assert sent(spark, run, of.index[NASTY]) == arrived(spark, run, of.index[NASTY])
    rows = written(tmp_path)
    assert Counter(row["_sink"] for row in rows) == dict.fromkeys(
        [NASTY, "in windows", "beside"], RECORDS
    )
    check_answers([row for row in rows if row["_sink"] == NASTY])
    for row in rows:
        if row["_sink"] == "beside":
            assert field(row, "value") == f"c{row['id'] % 5}"
    threads = {row["id"] % 2: row["_thread"] for row in rows if row["_sink"] == "beside"}
    assert all(row["_thread"] == threads[row["id"] % 2] for row in rows if row["_sink"] == "beside")


def check_answers(rows: list[dict[str, Any]]) -> None:
    seen: Counter[tuple[str, int]] = Counter()
    sums: Counter[tuple[str, int]] = Counter()
    largest: Counter[tuple[str, int]] = Counter()
    for row in rows:
        start = datetime.fromisoformat(field(row, "window")["start"]).astimezone(UTC).timestamp()
        key = (field(row, MORE), int(start))
        assert key == (f"C{row['id'] % 5}", row["id"] // 100 * 100)
        seen[key] += 1
        largest[key] = max(largest[key], field(row, ANSWER))
        sums[key] = max(sums[key], field(row, "sum"))
    assert largest == seen
    assert sum(seen.values()) == RECORDS
    assert sum(sums.values()) == sum(range(RECORDS))


def field(row: dict[str, Any], name: str) -> Any:
    """Of the one record in the row that is there."""
    (record,) = (value for key, value in row.items() if key.startswith("record") and value)
    return record[name]


def arrived(spark: SparkSession, run: Run, operator: int) -> list[int]:
    """Per task of the operator, the tuples that arrived there."""
    layout = run.outline.layout
    level, first = layout.level[operator], layout.first_partition[operator]
    found = {
        thread.partition: thread.arrivals
        for thread in meters.snapshot(spark).threads
        if thread.query == str(run.query.id) and thread.level == level
    }
    return [found.get(first + task, 0) for task in range(layout.tasks[operator])]


def sent(spark: SparkSession, run: Run, operator: int) -> list[int]:
    """Per task of the operator, the tuples that the source meant for it."""
    layout = run.outline.layout
    counts = [0] * layout.first_task[-1]
    for thread in meters.snapshot(spark).threads:
        if thread.query == str(run.query.id) and thread.level == 0:
            for receiver, count in enumerate(thread.sent.tolist(), thread.first_receiver):
                counts[receiver] += count
    first = layout.first_task[operator]
    return counts[first : first + layout.tasks[operator]]


@udf(returnType=IntegerType())
def doubled(value):  # type: ignore[no-untyped-def]
    """Fails on None, which Spark would give it for the tuples of other operators."""
    return 2 * value if value % 10 else None


def test_a_udf_gets_the_tuples_of_its_operator_only(spark: SparkSession, tmp_path: Path) -> None:
    source = Logic(expr="CAST(id AS INT)", options=(("records", "300"),))
    of = topology("s>a", "s>b", "a>k", "b>j", logic={"s": source})
    made: Plan = plan(of, {"a": 2}, on=MODEL, rate=300)
    with running(spark, made, tmp_path, bound={"a": doubled}) as run:
        assert run.outline.mode == "micro-batch"
        wait_until(lambda: len(written(tmp_path)) >= 570, query=run.query)
    rows = {(row["_sink"], row["id"]): row["value"] for row in written(tmp_path)}
    assert rows == {("j", i): i for i in range(300)} | {
        ("k", i): 2 * i for i in range(300) if i % 10
    }


@udf(returnType=IntegerType())
def divided(value):  # type: ignore[no-untyped-def]
    return 100 // (value - 50)


def test_a_udf_that_raises_is_named_with_its_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    of = topology("s>a", "a>k", logic={"s": Logic(expr="CAST(id AS INT)")})
    line = divided.func.__code__.co_firstlineno + 2
    with running(spark, plan(of, on=MODEL, rate=300), tmp_path, bound={"a": divided}) as run:
        wait_until(lambda: not run.query.isActive)
        assert run.failure == (
            f"operator 'a', thread 0: test_expressions.py, line {line}: ZeroDivisionError: integer "
            "division or modulo by zero"
        )


def test_functions_of_columns_may_skip_what_fails(spark: SparkSession, tmp_path: Path) -> None:
    source = Logic(options=(("records", "100"),))
    of = topology("s>a", "a>k", logic={"s": source, "a": Logic(on_error="skip")})
    made = plan(of, on=MODEL, rate=1000)
    with running(
        spark, made, tmp_path, bound={"a": lambda id: functions.expr("100 DIV (id - 50)")}
    ) as run:
        wait_until(lambda: len(written(tmp_path)) >= 99, query=run.query)
    assert {row["id"] for row in written(tmp_path)} == set(range(100)) - {50}


@pytest.mark.parametrize("engine", ["real-time", "micro-batch"])
def test_the_first_of_each_key(spark: SparkSession, tmp_path: Path, engine: Engine) -> None:
    """Beside a stream that passes its level, which micro-batches cannot do."""
    record = "named_struct('user', named_struct('name', concat('u', id % 50)), 'n', id)"
    source = Logic(expr=record, options=(("records", "600"),))
    beside = ["s>z"] if engine == "real-time" else []
    of = topology(
        *("s>w", "w>d", "d>k", *beside),
        logic={
            "s": source,
            "w": Logic(where="n % 2 = 0 AND user.name <> 'u4'"),
            "d": Logic(distinct=("user.name",), key_groups=4),
        },
        groupings={"w>d": Grouping("fields", ("user.name",))},
    )
    made = plan(of, {"d": 2}, on=MODEL, rate=600, engine=engine)
    with running(spark, made, tmp_path) as run:
        wait_until(lambda: sum(arrived(spark, run, of.index["w"])) == 600, query=run.query)
        if beside:
            wait_until(lambda: sum(arrived(spark, run, of.index["d"])) == 288, query=run.query)
        wait_until(lambda: len(written(tmp_path)) >= 24 + 600 * len(beside), query=run.query)
        if beside:
            batch = run.batch
            wait_until(lambda: run.batch > batch + 1, query=run.query)
        else:
            run.query.processAllAvailable()
    rows = [row for row in written(tmp_path) if row["_sink"] == "k"]
    found = sorted((row["id"], row["n"], row["user"]["name"]) for row in rows)
    assert found == [(n, n, f"u{n}") for n in range(0, 50, 2) if n != 4]
    assert len(written(tmp_path)) == 24 + 600 * len(beside)


def test_a_table_is_joined(spark: SparkSession, tmp_path: Path) -> None:
    """Two tuples where the table has two rows; none, or one with NULLs, where it has no row."""
    file = tmp_path / "it's.csv"
    file.write_text("u1;one\nu3;three\nu3;drei\n", encoding="utf-8")
    table = Join(
        str(file), f"user STRING, {quoted(MORE)} STRING", ("user",), options=(("sep", ";"),)
    )
    record = "named_struct('user', concat('u', id % 5), 'n', id)"
    of = topology(
        "s>i",
        "s>l",
        logic={
            "s": Logic(expr=record, options=(("records", "500"),)),
            "i": Logic(join=table),
            "l": Logic(join=replace(table, how="left")),
        },
    )
    with running(spark, plan(of, {"i": 2}, on=MODEL, rate=500), tmp_path) as run:
        wait_until(lambda: len(written(tmp_path)) >= 900, query=run.query)
        assert run.whereabouts().levels == run.outline.layout.slots(run.plan.placement)
        assert not run.whereabouts().fall_backs
    words = {1: ["one"], 3: ["three", "drei"]}
    found = Counter(
        (r["_sink"], r["id"], r["user"], r["n"], r.get(MORE)) for r in written(tmp_path)
    )
    rows = {(n, f"u{n % 5}", n, word) for n in range(500) for word in words.get(n % 5, [None])}
    assert found == Counter(
        [("l", *row) for row in rows] + [("i", *row) for row in rows if row[3] is not None]
    )
