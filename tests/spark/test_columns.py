"""Columns as text: Spark makes the same of it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Column, SparkSession, functions
from pyspark.sql.functions import col
from pyspark.sql.window import Window

from slotwise import Flow
from slotwise.model import SlotwiseError
from slotwise.spark.query.columns import sql_of

pytestmark = pytest.mark.cluster

EACH: dict[str, Callable[[], Column]] = {
    "amount > 100": lambda: col("amount") > 100,
    "(a.b > 1.5D) AND (NOT (`odd name` IS NULL))": lambda: (
        (col("a.b") > 1.5) & ~col("`odd name`").isNull()
    ),
    "country = 'it\\'s \"(q'": lambda: col("country") == "it's \"(q",
    "country IN ('DE', 'F\\'R')": lambda: col("country").isin("DE", "F'R"),
    "(x >= 1) AND (x <= 2)": lambda: col("x").between(1, 2),
    "negative(x % 3) * 0.1D": lambda: -(col("x") % 3) * 0.1,
    "coalesce(country, '-')": lambda: functions.coalesce("country", functions.lit("-")),
    "CAST(x AS DECIMAL(10,2)) * 1.50BD": lambda: col("x").cast("decimal(10,2)") * Decimal("1.50"),
    "TRY_CAST(country AS INT)": lambda: col("country").try_cast("int"),
    "CASE WHEN x > 1 THEN 'a' ELSE NULL END": lambda: functions.when(col("x") > 1, "a").otherwise(
        None
    ),
    "d < DATE '2024-01-02'": lambda: col("d") < datetime.date(2024, 1, 2),
    "split(country, '[ \\\\t]', -1)[0]": lambda: functions.split("country", "[ \\t]")[0],
    "country RLIKE 'a\\\\d+'": lambda: col("country").rlike("a\\d+"),
    "transform(xs, x_1 -> x_1 + 1)": lambda: functions.transform("xs", lambda x: x + 1),
    "struct(x, upper(country) AS `in capitals`)": lambda: functions.struct(
        "x", functions.upper("country").alias("in capitals")
    ),
    "from_json(country, 'text STRING')['text']": lambda: functions.from_json(
        "country", "text STRING"
    ).getField("text"),
    "x + 1 AS y": lambda: functions.expr("x + 1 AS y"),
    "sum(amount)": lambda: functions.sum("amount"),
    "aggregate(xs, 0, (x_1, y_2) -> x_1 + y_2)": lambda: functions.aggregate(
        "xs", functions.lit(0), lambda x, y: x + y
    ),
    "(x + 1) * 2": lambda: (col("x") + 1) * 2,
    "count(*)": lambda: functions.count("*"),
    "count(DISTINCT x, country)": lambda: functions.countDistinct("x", "country"),
    "struct(a.*)": lambda: functions.struct("a.*"),
}
"""Readable, and with every literal's type."""
ROW = (
    "SELECT 150.0D AS amount, named_struct('b', 2.0D) AS a, 'x' AS `odd name`, 'a1 b' AS country, "
    "7 AS x, DATE '2024-01-01' AS d, array(1, 2) AS xs"
)


@pytest.mark.parametrize("text", EACH)
def test_the_text_is_readable_and_means_the_same(spark: SparkSession, text: str) -> None:
    column, row = EACH[text](), spark.sql(ROW)
    found = sql_of(column)
    assert re.sub(r"y_\d+", "y_2", re.sub(r"x_\d+", "x_1", found)) == text
    of_column, of_text = row.select(column), row.select(functions.expr(found))
    assert of_text.schema.fields[0].dataType == of_column.schema.fields[0].dataType
    assert of_text.collect() == of_column.collect()


@pytest.mark.parametrize(
    "make",
    [
        lambda spark: functions.udf(lambda value: value)("value"),
        lambda spark: spark.range(1)["id"],
        lambda spark: functions.sum("x").over(Window.partitionBy("y")),
        lambda spark: col("x").asc(),
        lambda spark: col("a").withField("b", functions.lit(1)),
    ],
)
def test_a_column_without_text_is_refused_with_what_to_do(
    spark: SparkSession, make: Callable[[SparkSession], Column]
) -> None:
    read = Flow("refused").read()
    with pytest.raises(SlotwiseError, match=r"operator 'a': .* give a function of columns") as told:
        read.map("a", make(spark))
    assert str(told.value).startswith("tests/spark/test_columns.py, line ")


def test_columns_are_text_in_the_spec_at_once(spark: SparkSession) -> None:
    flow = Flow("columns")
    large = flow.read("s", expr=functions.from_json("value", "amount DOUBLE")).where(
        "large", col("amount") > 100
    )
    large.group(
        by=col("country"),
        total=functions.sum("amount"),
        having=col("total") > 1000,
    )
    source, where, group = flow.topology.operators
    assert source.logic.expr == "from_json(value, 'amount DOUBLE')"
    assert where.logic.where == "amount > 100"
    assert dict(group.logic.aggregate) == {
        "by": "country",
        "total": "sum(amount)",
        "having": "total > 1000",
    }
    assert flow.topology.streams[-1].grouping.fields == ("country",)
