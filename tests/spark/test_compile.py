"""What Spark says to a plan's SQL: refusals that name the operator, before a query starts."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Column, SparkSession, functions
from pyspark.sql.types import LongType

from slotwise.model import Grouping, Logic, SlotwiseError, Topology
from slotwise.spark.query.compile import Query, compile
from slotwise.spark.query.explain import explain
from slotwise.spark.query.outline import outline
from tests.spark.conftest import MODEL
from tests.spark.plans import plan, topology

pytestmark = pytest.mark.cluster


def compiled(spark: SparkSession, of: Topology, **bound: object) -> Query:
    return compile(spark, outline(plan(of, 2, on=MODEL), bound))  # type: ignore[arg-type]


def one(logic: Logic, **more: Logic) -> Topology:
    return topology("s>a", "a>k", logic={"a": logic, **more})


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
        (one(Logic(expr="valu")), "operator 'a': A column, variable, or function parameter"),
        (one(Logic(expr="nosuch(value)")), "operator 'a': Cannot resolve routine `nosuch`"),
        (one(Logic(expr="array(1) + 1")), "operator 'a': Cannot resolve"),
        (one(Logic(expr="value", flat=True)), "operator 'a': it is flat, so it must return"),
        (one(Logic(expr="named_struct('id', 1)")), "operator 'a': its result has the field 'id'"),
        (
            topology("s>a", "a>k", groupings={"a>k": Grouping("fields", ("user",))}),
            "stream a → k is grouped by 'user', but its tuples have value, id, ts",
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
        (one(Logic(), s=Logic(options=(("format", "nosuch"),))), "source 's': "),
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


def test_python_code_is_refused_in_real_time_mode(spark: SparkSession) -> None:
    slow = functions.udf(lambda value: value)
    with pytest.raises(SlotwiseError, match="operator 'a': it calls Python code"):
        compiled(spark, one(Logic()), a=lambda value: slow(value))


def test_a_function_with_an_unknown_parameter(spark: SparkSession) -> None:
    with pytest.raises(SlotwiseError, match=r"operator 'a': .* has a parameter 'user'"):
        compiled(spark, one(Logic()), a=lambda user: user)
