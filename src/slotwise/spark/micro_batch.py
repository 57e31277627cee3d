"""Operators that are Python functions on Arrow batches: inside a query of micro-batches.

Levels, routes and places are the same as in real-time mode; only the logic runs in Spark's Python
workers, a batch at a time. The function is called once with an empty batch before the query
starts: that tells the fields of its output tuples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow
from pyarrow import compute
from pyspark import cloudpickle
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from slotwise.model import SlotwiseError
from slotwise.spark.functions import Function
from slotwise.spark.records import RESERVED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Batches = Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


def with_batches(frame: DataFrame, operator: int, function: Function) -> DataFrame:
    """Adds `_out{operator}`: what the function makes of `_in{operator}`, a struct or NULL."""
    taken = frame.schema[f"_in{operator}"].dataType
    assert isinstance(taken, StructType)
    fields = [frame.schema["id"], frame.schema["ts"], *taken.fields]
    made = output_type(function, to_arrow_schema(StructType(fields)))
    # Workers on other machines have neither slotwise nor the user's modules.
    for module in {__name__, function.call.__module__}:
        cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
    schema = StructType([*frame.schema.fields, StructField(f"_out{operator}", made)])
    return frame.mapInArrow(batched(operator, function.call, to_arrow_schema(schema)), schema)


def output_type(function: Function, taken: pyarrow.Schema) -> StructType:
    """The fields of the function's output tuples. Raises SlotwiseError if it gives no batch."""
    empty = pyarrow.RecordBatch.from_pylist([], schema=taken)
    try:
        answer = function.call(empty)
    except Exception as error:
        raise SlotwiseError(f"{function.name} fails on an empty batch: {error!r}") from None
    if not isinstance(answer, pyarrow.RecordBatch):
        raise SlotwiseError(f"{function.name} gives a {type(answer).__name__}, no RecordBatch")
    fields = [field for field in from_arrow_schema(answer.schema) if field.name not in RESERVED]
    if not fields:
        raise SlotwiseError(f"{function.name} gives batches without a field")
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
    nothing = pyarrow.nulls(batch.num_rows, schema.field(len(schema) - 1).type)
    return pyarrow.RecordBatch.from_arrays([*batch.columns, nothing], schema=schema)


def _computed(
    batch: pyarrow.RecordBatch, operator: int, call: Callable[..., Any], schema: pyarrow.Schema
) -> pyarrow.RecordBatch:
    inputs = batch.column(f"_in{operator}")
    names = ["id", "ts", *(field.name for field in inputs.type)]
    columns = [batch.column("id"), batch.column("ts"), *inputs.flatten()]
    answer = call(pyarrow.RecordBatch.from_arrays(columns, names=names))
    if "id" not in answer.schema.names and answer.num_rows != batch.num_rows:
        raise ValueError(
            f"{answer.num_rows} rows for {batch.num_rows}: keep the columns id and ts, "
            "so that it is known which is for which"
        )
    out_type = schema.field(len(schema) - 1).type
    made = pyarrow.StructArray.from_arrays(
        [answer.column(field.name).cast(field.type) for field in out_type], fields=list(out_type)
    )
    rows = answer.num_rows
    fixed = {
        "_operator": pyarrow.array([operator] * rows, pyarrow.int32()),
        "_thread": pyarrow.array([batch.column("_thread")[0].as_py()] * rows, pyarrow.int32()),
        **{
            name: answer.column(name) if name in answer.schema.names else batch.column(name)
            for name in RESERVED
        },
        f"_out{operator}": made,
    }
    return pyarrow.RecordBatch.from_arrays(
        [fixed[f.name] if f.name in fixed else pyarrow.nulls(rows, f.type) for f in schema],
        schema=schema,
    )
