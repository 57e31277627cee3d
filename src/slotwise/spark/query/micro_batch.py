"""Operators that are Python functions on Arrow batches: inside a query of micro-batches.

Levels, routes and places are the same as in real-time mode; only the logic runs in Spark's Python
workers, a batch at a time. The function is called once with an empty batch before the query
starts, which gives the fields of its output tuples. Each call is timed where it happens; what it
took comes back with the first row of its answer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow
from pyarrow import compute
from pyspark import cloudpickle
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from slotwise.model import SlotwiseError
from slotwise.spark.query.functions import Function
from slotwise.spark.query.records import RESERVED
from slotwise.spark.query.traces import what_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOOK = "_took"
"""The column with, in one row per call, how many records it took, how long, and how old they were
together."""
TOOK_TYPE = pyarrow.struct(
    [("records", pyarrow.int64()), ("nanos", pyarrow.int64()), ("age_us", pyarrow.int64())]
)

Batches = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


def with_batches(frame: DataFrame, operator: int, function: Function) -> DataFrame:
    """Adds `_out{operator}`: what the function makes of `_in{operator}`, a struct or NULL; and
    `_took`.
    """
    taken = frame.schema[f"_in{operator}"].dataType
    assert isinstance(taken, StructType)
    fields = [frame.schema["id"], frame.schema["ts"], *taken.fields]
    made = output_type(function, to_arrow_schema(StructType(fields)))
    # Workers on other machines have neither slotwise nor the user's modules.
    for module in {__name__, function.call.__module__}:
        cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
    added = [StructField(f"_out{operator}", made), StructField(TOOK, from_arrow_type(TOOK_TYPE))]
    schema = StructType([*frame.schema.fields, *added])
    return frame.mapInArrow(batched(operator, function.call, to_arrow_schema(schema)), schema)


def output_type(function: Function, taken: pyarrow.Schema) -> StructType:
    """The fields of the function's output tuples. Raises SlotwiseError if it returns no batch."""
    empty = pyarrow.RecordBatch.from_pylist([], schema=taken)
    try:
        answer = function.call(empty)
    except Exception as error:
        raise SlotwiseError(f"{function.name} fails on an empty batch: {what_of(error)}") from None
    if not isinstance(answer, pyarrow.RecordBatch):
        raise SlotwiseError(f"{function.name} returned {type(answer).__name__}, not RecordBatch")
    fields = [field for field in from_arrow_schema(answer.schema) if field.name not in RESERVED]
    if not fields:
        raise SlotwiseError(f"{function.name} returned a batch without fields")
    return StructType(fields)


def batched(operator: int, call: Callable[..., Any], schema: pyarrow.Schema) -> Batches:
    """The function for Spark's Python workers: other operators' rows pass as they are."""

    def each(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            mine = compute.equal(batch.column("_operator"), operator)
            others = batch.filter(compute.invert(mine))
            if others.num_rows:
                yield _passed(others, schema)
            if batch.num_rows > others.num_rows:
                yield _computed(batch.filter(mine), operator, call, schema)

    return each


def _passed(batch: pyarrow.RecordBatch, schema: pyarrow.Schema) -> pyarrow.RecordBatch:
    nothing = [pyarrow.nulls(batch.num_rows, field.type) for field in schema][-2:]
    return pyarrow.RecordBatch.from_arrays([*batch.columns, *nothing], schema=schema)


def _computed(
    batch: pyarrow.RecordBatch, operator: int, call: Callable[..., Any], schema: pyarrow.Schema
) -> pyarrow.RecordBatch:
    inputs = batch.column(f"_in{operator}")
    names = ["id", "ts", *(field.name for field in inputs.type)]
    columns = [batch.column("id"), batch.column("ts"), *inputs.flatten()]
    age_us = batch.num_rows * (time.time_ns() // 1000) - compute.sum(batch.column("ts")).as_py()
    began = time.perf_counter_ns()
    answer = call(pyarrow.RecordBatch.from_arrays(columns, names=names))
    took = {
        "records": batch.num_rows,
        "nanos": time.perf_counter_ns() - began,
        "age_us": age_us,
    }
    if "id" not in answer.schema.names and answer.num_rows != batch.num_rows:
        raise ValueError(
            f"{answer.num_rows} rows returned for {batch.num_rows}: keep the columns id and ts, "
            "which say what each row is for"
        )
    made = {
        name: answer.column(name) if name in answer.schema.names else batch.column(name)
        for name in RESERVED
    }
    made[f"_out{operator}"] = _records(answer, schema.field(f"_out{operator}").type)
    if not answer.num_rows:
        # A row that is no tuple, so that what the call took is reported.
        made = {name: batch.column(name)[:1] for name in RESERVED}
    rows = max(answer.num_rows, 1)
    made |= {
        "_operator": pyarrow.array([operator] * rows, pyarrow.int32()),
        "_thread": pyarrow.array([batch.column("_thread")[0].as_py()] * rows, pyarrow.int32()),
        TOOK: pyarrow.array([took] + [None] * (rows - 1), TOOK_TYPE),
    }
    return pyarrow.RecordBatch.from_arrays(
        [made[f.name] if f.name in made else pyarrow.nulls(rows, f.type) for f in schema],
        schema=schema,
    )


def _records(answer: pyarrow.RecordBatch, made: pyarrow.StructType) -> pyarrow.StructArray:
    columns = [answer.column(field.name).cast(field.type) for field in made]
    return pyarrow.StructArray.from_arrays(columns, fields=list(made))
