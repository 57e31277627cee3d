"""What an operator computes: the column `_out{i}` of its input tuples, which are in `_in{i}`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions
from pyspark.sql.types import ArrayType, BooleanType

from slotwise.model import Logic, Profiles, SlotwiseError
from slotwise.spark.query.aggregate import HAVING
from slotwise.spark.query.expressions import calls_python, checked, view, with_columns
from slotwise.spark.query.functions import Function
from slotwise.spark.query.join import with_joined
from slotwise.spark.query.native import of_java
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.sinks import attempted
from slotwise.spark.query.synthetic import Work, service_us, work_sql

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_output(
    frame: DataFrame, operator: int, of: Outline, work: Work, profiles: Profiles | None
) -> tuple[DataFrame, str]:
    """(the frame with the output column, what was done as text).

    `work` is for an operator without logic, by `profiles`. Raises SlotwiseError for what Spark
    refuses, without the operator's name.
    """
    logic, own = of.layout.topology.operators[operator].logic, f"_in{operator}"
    out, function = f"_out{operator}", of.functions.get(operator)
    skips = logic.on_error == "skip"
    tried = partial(attempted, of.layout.topology, operator) if skips else None
    if function is None and logic.java is not None:
        return _of_java(frame, operator, logic, tried)
    if function is None and logic.where is not None:
        return with_condition(frame, own, out, logic.where, tried)
    if function is None and logic.join is not None:
        return with_joined(frame, logic.join, own, out)
    if function is None and logic.expr is None:
        sql = own  # of real data
        if logic.is_empty:
            sql = work_sql(service_us(of.plan, operator, work, profiles), own)
        return frame.withColumn(out, functions.expr(sql)), f"{out} = {sql}"
    seen = view(frame, own)
    if function is not None and function.on_batches:
        if function.takes_fields:
            function.taken(seen.columns)  # refuses one that they do not have
        from slotwise.spark.query.micro_batch import with_batches

        return with_batches(frame, operator, function), f"{out} = {function}"

    if function is not None:
        made, text = _of_columns(function, seen), str(function)
    else:
        assert logic.expr is not None
        made, text = checked(seen, partial(functions.expr, logic.expr)), logic.expr
    if calls_python(seen.select(made)):
        _check_python(operator, of)
    if tried is not None:
        made, text = tried(made), f"attempt({text})"
    return with_columns(frame, own, {out: made}), f"{out} = {text}"


def _of_java(
    frame: DataFrame, operator: int, logic: Logic, tried: Callable[[Column], Column] | None
) -> tuple[DataFrame, str]:
    own, out, text = f"_in{operator}", f"_out{operator}", f"{logic.java}(_in{operator})"
    made, is_condition = of_java(frame, operator, logic)
    there = functions.col(own).isNotNull()
    made = functions.when(there, made)
    if tried is not None:
        made, text = tried(made), f"attempt({text})"
    if is_condition:
        made, text = functions.when(made, functions.col(own)), f"IF({text}, {own}, NULL)"
    return frame.withColumn(out, made), f"{out} = {text}"


def with_kept(frame: DataFrame, operator: int, of: Outline) -> tuple[DataFrame, str]:
    """Of an aggregate's answers, those that are sent on: the others are NULL from now on."""
    out, having = f"_out{operator}", dict(of.layout.topology.operators[operator].logic.aggregate)
    if HAVING not in having:
        return frame, ""
    return with_condition(frame, out, out, having[HAVING])


def with_condition(
    frame: DataFrame,
    own: str,
    out: str,
    condition: str,
    tried: Callable[[Column], Column] | None = None,
) -> tuple[DataFrame, str]:
    """`out` is `own` where the condition on its fields is true, otherwise NULL. `tried` is what
    becomes of the condition where it may fail.
    """
    seen = view(frame, own)
    try:
        made = checked(seen, partial(functions.expr, condition))
        found = seen.select(made).schema[0].dataType
        if not isinstance(found, BooleanType):
            raise SlotwiseError(f"it is {found.simpleString()}: expected true or false")
    except SlotwiseError as error:
        raise SlotwiseError(f"its condition '{condition}': {error}") from None
    text = condition
    if tried is not None:
        made, text = tried(made), f"attempt({condition})"
    kept = with_columns(frame, own, {"_kept": made})
    answer = functions.when(functions.col("_kept"), functions.col(own))
    return kept.withColumn(out, answer).drop("_kept"), f"{out} = IF({text}, {own}, NULL)"


def check_array(frame: DataFrame, operator: int) -> None:
    """Raise SlotwiseError unless the output of a flat operator is an array."""
    found = frame.schema[f"_out{operator}"].dataType
    if not isinstance(found, ArrayType):
        raise SlotwiseError(f"it is flat, so it must return an array, not {found.simpleString()}")


def _of_columns(function: Function, seen: DataFrame) -> Column:
    try:
        return checked(seen, partial(function.of_columns, seen.columns))
    except SlotwiseError as error:
        raise SlotwiseError(f"{function.defined}: {error}") from None


def _check_python(operator: int, of: Outline) -> None:
    """Spark calls Python functions for every row of a level, also where a condition is false."""
    if of.mode == "real-time":
        raise SlotwiseError(
            "it calls Python code, which real-time mode cannot run: "
            "use Spark's own functions, or set engine: micro-batch"
        )
    level = of.layout.level[operator]
    others = [*of.layout.levels[level], *of.layout.passing(level)]
    others.remove(operator)
    if others:
        other = of.layout.topology.operators[others[0]].name
        raise SlotwiseError(
            f"it calls a Python function, which Spark would call for the tuples of '{other}', too: "
            "make the Python function itself the operator's, or one of Arrow batches"
        )
