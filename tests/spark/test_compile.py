"""What Spark says to a plan's SQL: refusals that name the operator, before a query starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Column, SparkSession, functions
from pyspark.sql.types import LongType

from slotwise.model import Grouping, Logic, SlotwiseError, Topology
from slotwise.spark.query.compile import Query, compile
from slotwise.spark.query.explain import explain
from slotwise.spark.query.keys import keys_of
from slotwise.spark.query.outline import outline
from tests.spark.conftest import MODEL
from tests.spark.plans import plan, topology

pytestmark = pytest.mark.cluster


def compiled(spark: SparkSession, of: Topology, **bound: object) -> Query:
    return compile(spark, outline(plan(of, 2, on=MODEL), bound))  # type: ignore[arg-type]


def one(logic: Logic, **more: Logic) -> Topology:
    return topology("s>a", "a>k", logic={"a": logic, **more})


ORDER = Logic(
    expr="named_struct('country', named_struct('name', concat('c', id % 5)), 'amount', 1.5D * id, "
    "'at', timestamp_micros(ts), 'tags', map('a', 'b'))"
)
IT_HAS = "it has country, amount, at, tags, id, ts"
ONE_BY_ONE = "operator 'a': an expression has one value for each tuple by itself"


def of_orders(expr: str) -> Topology:
    return one(Logic(expr=expr), s=ORDER)


def totals(by: str, **results: str) -> Topology:
    made = Logic(aggregate=(("by", by), *results.items()))
    keys = Grouping("fields", keys_of(by))
    return topology("s>a", logic={"s": ORDER, "a": made}, groupings={"s>a": keys})


def test_types_flow_from_operator_to_operator(spark: SparkSession) -> None:
    of = topology(
        "s>p",
        "p>w",
        "w>k",
        logic={
            "p": Logic(expr="named_struct('words', split(value, ' '), 'length', length(value))"),
            "w": Logic(expr="words", flat=True),
        },
    )
    made = compiled(spark, of)
    types = {column.name: column.dataType.simpleString() for column in made.frame.schema}
    assert types == {
        "_sink": "string",
        "_thread": "int",
        "id": "bigint",
        "ts": "bigint",
        "value": "string",
    }
    assert len(made.sql) == 4


def test_a_function_of_columns(spark: SparkSession) -> None:
    def longer(value: Column, id: Column) -> Column:
        return functions.length(value) + id

    made = compiled(spark, one(Logic()), a=longer)
    assert made.frame.schema["value"].dataType == LongType()


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (one(Logic(expr="value +")), "operator 'a': Syntax error"),
        (
            one(Logic(expr="valu")),
            "operator 'a': no field 'valu'; did you mean 'value'? It has value, id, ts",
        ),
        (of_orders("_in1"), f"operator 'a': no field '_in1': {IT_HAS}"),
        (of_orders("country.nme"), "operator 'a': No such struct field `nme` in `name`"),
        (of_orders("count(*)"), ONE_BY_ONE),
        (of_orders("sum(amount) OVER ()"), ONE_BY_ONE),
        (of_orders("explode(array(1, 2))"), ONE_BY_ONE),
        (of_orders("session_window(at, '1 minute')"), ONE_BY_ONE),
        (of_orders("*"), ONE_BY_ONE),
        (of_orders("value -> value"), "operator 'a': it is no expression that Spark can compute"),
        (of_orders("named_struct()"), "operator 'a': its result has no fields"),
        (of_orders("hour(ts)"), "so use timestamp_micros(ts) where a TIMESTAMP is expected"),
        (
            of_orders("window(at, '1 minute', '10 seconds')"),
            "operator 'a': window: a tuple would be in several sliding windows",
        ),
        (of_orders("window('now', '1 minute')"), "operator 'a': window: expected a TIMESTAMP"),
        (of_orders("named_struct('ID', 1)"), "operator 'a': its result has the field 'ID'"),
        (of_orders("named_struct('A', 1, 'a', 2)"), "operator 'a': its result has the field 'a'"),
        (totals("contry", n="count(*)"), "grouped by 'contry': no field 'contry'; did you mean"),
        (totals("upper(contry)", n="count(*)"), "'upper(contry)': no field 'contry'; did you"),
        (totals("rand()", n="count(*)"), "'rand()', which may differ each time it is computed"),
        (totals("tags", n="count(*)"), "stream s → a is grouped by 'tags': Cannot resolve"),
        (totals("sum(amount)", n="count(*)"), "'sum(amount)': an expression has one value for"),
        (
            totals("amount", Amount="max(amount)"),
            "operator 'a': its result 'Amount' has the name of its key 'amount'",
        ),
        (
            totals("country.name, country.name AS Name", n="count(*)"),
            "operator 'a': its keys are named name, Name: give each a name of its own",
        ),
        (
            totals("amount", n="max(amont)"),
            "operator 'a': its result 'n' is max(amont): no field 'amont'; did you mean 'amount'?",
        ),
        (totals("amount", n="amount"), "its result 'n' is amount: expected an aggregate, such as"),
        (
            totals("amount", n="count(*)", having="m > 3"),
            "operator 'a': its condition 'm > 3': no field 'm': it has amount, n, id, ts",
        ),
        (one(Logic(expr="nosuch(value)")), "operator 'a': Cannot resolve routine `nosuch`"),
        (one(Logic(expr="array(1) + 1")), "operator 'a': Cannot resolve"),
        (one(Logic(expr="value", flat=True)), "operator 'a': it is flat, so it must return"),
        (one(Logic(expr="named_struct('id', 1)")), "operator 'a': its result has the field 'id'"),
        (
            topology("s>a", "a>k", groupings={"a>k": Grouping("fields", ("user",))}),
            "stream a → k is grouped by 'user': no field 'user': it has value, id, ts",
        ),
        (
            topology("s>a", "a>k", groupings={"a>k": Grouping("direct")}),
            "stream a → k is grouped by 'thread'",
        ),
        (
            topology("s>a", "s>b", "a>j", "b>j", logic={"a": Logic(expr="1")}),
            "it receives struct<value:int> from 'a' but struct<value:string> from 'b': both must",
        ),
        (one(Logic(), s=Logic(options=(("payload", "no"),))), "source 's': "),
        (one(Logic(), s=Logic(format="nosuch")), "source 's': [DATA_SOURCE_NOT_FOUND]"),
    ],
)
def test_refusals_name_the_operator(spark: SparkSession, of: Topology, sentence: str) -> None:
    with pytest.raises(SlotwiseError, match=re.escape(sentence)) as refused:
        compiled(spark, of)
    assert "\n" not in str(refused.value)


def test_explain_tells_levels_partitions_and_sql(spark: SparkSession) -> None:
    told = explain(outline(plan(one(Logic(expr="upper(value)")), 2, on=MODEL)))
    assert "test: 3 levels in real-time mode" in told
    assert "  1 a: partitions 0–1 in right/0, left/0" in told
    assert "_out1 = upper(value)" in told
    assert "→ 2 partitions by hop" in told


def test_keys_name_the_results(spark: SparkSession) -> None:
    by = "country.name, upper(country.name) AS `the land`, window(at, '1 minute'), amount % 2"
    made = compiled(spark, totals(by, n="count(*)"))
    assert made.frame.columns[4:] == ["name", "the land", "window", "(amount % 2)", "n"]
    assert made.frame.schema["window"].dataType.simpleString() == (
        "struct<start:timestamp,end:timestamp>"
    )


def python_udf() -> Callable[[Column], Column]:
    """Made where it is called, so that nobody can see it beforehand."""
    return functions.udf(lambda value: value)


def test_python_code_is_refused_in_real_time_mode(spark: SparkSession) -> None:
    with pytest.raises(SlotwiseError, match="operator 'a': it calls Python code"):
        compiled(spark, one(Logic()), a=lambda value: python_udf()(value))


def test_a_python_function_among_other_operators(spark: SparkSession) -> None:
    def both(value: Column) -> Column:
        return functions.concat(slow(value), value)

    slow = python_udf()
    assert compiled(spark, one(Logic()), a=both).outline.mode == "micro-batch"
    of = topology("s>a", "s>b", "a>k", "b>j")
    with pytest.raises(SlotwiseError, match="which Spark would call for the tuples of 'b', too"):
        compiled(spark, of, a=both)


def decides(value: Column) -> Column:
    return functions.lit(1) if value == "x" else functions.lit(2)


def raises(value: Column) -> Column:
    return [][1]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (decides, "it fails when called with columns: FILE, line LINE1: PySparkValueError: Cannot"),
        (raises, "it fails when called with columns: FILE, line LINE1: IndexError: list index"),
        (lambda value: 3, "it returned int, not Column"),
        (lambda user: user, "it has a parameter 'user', but its tuples have value, id, ts"),
        (lambda value: functions.col("valu"), "no field 'valu'; did you mean 'value'?"),
    ],
)
def test_a_function_that_is_none_of_columns(
    spark: SparkSession,
    call: Callable[..., Column],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    line = call.__code__.co_firstlineno
    wanted = sentence.replace("FILE", Path(__file__).name).replace("LINE1", str(line + 1))
    where = f"operator 'a': {call.__qualname__} (test_compile.py, line {line}): "
    with pytest.raises(SlotwiseError) as refused:
        compiled(spark, one(Logic()), a=call)
    assert str(refused.value).startswith(where + wanted)
    assert "\n" not in str(refused.value)


def test_the_whole_tuple(spark: SparkSession) -> None:
    of = one(Logic(), s=Logic(expr="IF(id > 3, named_struct('a', value, 'b', id), NULL)"))
    made = compiled(spark, of, a=lambda _record, a: functions.when(a != "7", _record))
    assert made.frame.columns == ["_sink", "_thread", "id", "ts", "a", "b"]
    assert compiled(spark, of_orders("_record")).frame.columns[4:] == (
        ["country", "amount", "at", "tags"]
    )


def test_a_parameter_with_a_default_need_not_be_a_field(spark: SparkSession) -> None:
    def longer(value: Column, /, factor: int = 2, *, id: Column) -> Column:
        return functions.length(value) * factor + id

    assert compiled(spark, one(Logic()), a=longer).frame.schema["value"].dataType == LongType()
