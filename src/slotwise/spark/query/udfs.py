"""Python UDFs of Spark as functions of Arrow batches.

Spark calls the UDFs of a query for every row, and a level of a query also has rows of other
operators. As a function of batches, a UDF is called with its operator's tuples only. What it gets
and what it may return is as in Spark; a result of None is no tuple.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from slotwise.model import SlotwiseError

if TYPE_CHECKING:
    import pyarrow

PLAIN, PANDAS, ARROW = (100, 101), (200,), (250,)
"""Spark's numbers (`evalType`) for UDFs of values, of pandas series and of Arrow arrays."""


def is_udf(call: object) -> bool:
    """Whether it was made by udf, pandas_udf or arrow_udf."""
    return hasattr(call, "evalType") and hasattr(call, "returnType")


def are_called_by(call: object) -> bool:
    """Whether a function, or one that it names, calls a UDF; names in modules are followed."""
    return _any_called(call, set())


def _any_called(call: object, seen: set[int]) -> bool:
    if isinstance(call, functools.partial):
        call = call.func
    if inspect.ismethod(call):
        call = call.__func__
    if is_udf(call):
        return True
    if id(call) in seen or not inspect.isfunction(call) or call.__module__.startswith("pyspark."):
        return False
    seen.add(id(call))
    try:
        known = inspect.getclosurevars(call)
    except ValueError:
        return False  # it names a variable that has no value yet
    named = [*known.nonlocals.values(), *known.globals.values()]
    for module in [value for value in named if isinstance(value, ModuleType)]:
        named += [getattr(module, name, None) for name in call.__code__.co_names]
    return any(_any_called(value, seen) for value in named)


def on_batches(udf: Any) -> Callable[[pyarrow.RecordBatch], pyarrow.RecordBatch]:
    """The UDF as a function of batches. Raises SlotwiseError for one that takes no single rows."""
    if udf.evalType not in (*PLAIN, *PANDAS, *ARROW):
        raise SlotwiseError(
            f"{udf.__name__} is a UDF of iterators or groups: use one of values or series"
        )
    parameters = tuple(inspect.signature(udf.func).parameters)
    kind, call, returned = udf.evalType, udf.func, udf.returnType

    def batches(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_type
        from pyspark.sql.types import StructType

        taken = {name: batch.column(name) for name in parameters if name in batch.schema.names}
        made = to_arrow_type(returned)
        if kind in PLAIN:
            values = _of_values(call, taken, returned)
        elif kind in PANDAS:
            answer = call(**{name: column.to_pandas() for name, column in taken.items()})
            values = _of_pandas(answer, made)
        else:
            values = call(**taken)
        values = values.cast(made)
        fields = (
            dict(zip(returned.names, values.flatten(), strict=True))
            if isinstance(returned, StructType)
            else {"value": values}
        )
        own = {name: batch.column(name) for name in ("id", "ts")}
        return pyarrow.RecordBatch.from_pydict({**own, **fields}).filter(values.is_valid())

    batches.__name__ = batches.__qualname__ = udf.__name__
    batches.__module__ = call.__module__
    return batches


def _of_values(call: Callable[..., Any], taken: dict[str, Any], returned: Any) -> Any:
    import pyarrow
    from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
    from pyspark.sql.types import StructType

    table = pyarrow.table(taken)
    rows = ArrowTableToRowsConversion.convert(table, from_arrow_schema(table.schema))
    answers = [(call(**row.asDict()),) for row in rows]
    if not answers:
        return pyarrow.array([], to_arrow_type(returned))
    made = LocalDataToArrowConversion.convert(answers, StructType().add("value", returned), False)
    return made.column(0).combine_chunks()


def _of_pandas(answer: Any, made: Any) -> Any:
    import pyarrow

    if hasattr(answer, "columns"):
        return pyarrow.RecordBatch.from_pandas(answer, preserve_index=False).to_struct_array()
    return pyarrow.Array.from_pandas(answer, type=made)
