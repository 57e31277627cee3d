"""Operators and sinks in Java or Scala: classes from the jars of the spec.

An operator's class is one of Spark's functions of rows (org.apache.spark.api.java.function):
MapFunction, FlatMapFunction with `flat`, or FilterFunction. It gets a row with the tuple's fields,
id and ts, and returns rows with the fields of `schema`; null is no tuple. Spark runs them in either
mode. A sink's class is a ForeachWriter of such rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.types import ArrayType, BooleanType, DataType, StructType

from slotwise.formats import CLASS, FOREACH, options_of
from slotwise.model import Logic, Operator, SlotwiseError
from slotwise.spark.query.expressions import field, fields_of, first_sentence
from slotwise.spark.query.records import RESERVED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KINDS = {"map": "a MapFunction", "flat": "a FlatMapFunction", "where": "a FilterFunction"}


def of_java(frame: DataFrame, operator: int, logic: Logic) -> tuple[Column, bool]:
    """(what the operator's class makes of its input tuple, whether that is a condition).

    Raises SlotwiseError, without the operator's name, for a class that cannot be an operator's.
    """
    name, own = logic.java or "", f"_in{operator}"
    kind = _kind(frame.sparkSession, name)
    _check(logic, name, kind)
    made = BooleanType() if kind == "where" else _returned(frame.sparkSession, logic)
    registered = f"slotwise_java_{operator}"
    jvm: Any = frame.sparkSession._jvm
    session: Any = frame.sparkSession._jsparkSession
    call = jvm.org.slotwise.work.JavaOperator.function(name, session.parseDataType(made.json()))
    session.udf().register(registered, call)
    names = [*RESERVED, *fields_of(frame, own)]
    row = functions.struct(*(field(own, each).alias(each) for each in names))
    return functions.call_udf(registered, row), kind == "where"


def check_writer(spark: SparkSession, operator: Operator) -> None:
    """Raise SlotwiseError for a sink whose class cannot write."""
    if operator.kind != "sink" or operator.logic.format != FOREACH:
        return
    name = options_of(operator).get(CLASS)
    if name is not None and _kind(spark, name) != "foreach":
        raise SlotwiseError(f"{name} is not a ForeachWriter of org.apache.spark.sql")


def _kind(spark: SparkSession, name: str) -> str:
    session: Any = spark._jsparkSession
    jvm: Any = spark._jvm
    try:
        loader = session.sharedState().jarClassLoader()
        return str(jvm.org.slotwise.work.JavaOperator.kind(name, loader))
    except Py4JJavaError:
        raise SlotwiseError(
            f"there is no class '{name}' in the spec's jars and packages: add its jar under jars"
        ) from None


def _check(logic: Logic, name: str, kind: str) -> None:
    if kind not in KINDS:
        expected = ", ".join(KINDS.values())
        raise SlotwiseError(
            f"{name} is none of Spark's functions of rows: expected {expected} "
            "of org.apache.spark.api.java.function"
        )
    if logic.flat != (kind == "flat"):
        what = "set flat: true" if kind == "flat" else "remove flat"
        raise SlotwiseError(f"{name} is {KINDS[kind]}: {what}")
    if kind == "where" and logic.schema is not None:
        raise SlotwiseError(
            f"{name} is {KINDS[kind]}, which sends tuples on as they are: remove schema"
        )
    if kind != "where" and logic.schema is None:
        raise SlotwiseError(
            f"{name} is {KINDS[kind]}: say which fields its tuples have, as in schema: 'n BIGINT'"
        )


def _returned(spark: SparkSession, logic: Logic) -> DataType:
    try:
        made = StructType.fromDDL(logic.schema or "")
    except PySparkException as error:
        raise SlotwiseError(f"its schema: {first_sentence(error)}") from None
    return ArrayType(made) if logic.flat else made
