"""What an operator of a flow computes, and how its data is had, as parts of a Logic."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from slotwise.model import Logic, SlotwiseError

Computed = Any
"""Spark SQL, a PySpark Column, or a function."""
Function = Callable[..., Any]
DATA = ("format", "schema", "id", "event_time", "partitions")
"""Of a source or sink, beside its options. What Logic does not have of it is an option."""


@dataclass(frozen=True)
class Made:
    """What an operator computes: text, or a function."""

    sql: str | None = None
    bound: Function | None = None


def made_of(value: Computed) -> Made:
    if value is None or callable(value):
        return Made(bound=value)
    return Made(sql_of(value))


def sql_of(value: Computed) -> str:
    if isinstance(value, str):
        return value
    if callable(value):
        raise SlotwiseError(f"{value!r} is a function: expected Spark SQL or a PySpark column")
    if "pyspark" not in sys.modules:
        raise SlotwiseError(f"{value!r} is neither Spark SQL, nor a PySpark column, nor a function")
    from slotwise.spark.query import columns

    return columns.sql_of(value)


def keys_of(by: Computed | Sequence[Computed]) -> tuple[str, ...]:
    return tuple(sql_of(key) for key in (by if isinstance(by, list | tuple) else [by]))


def without_name(key: str) -> str:
    """What a stream is grouped by: the key without the name that its result has."""
    return re.sub(r"\s+AS\s+(\w+|`[^`]+`)$", "", key, flags=re.IGNORECASE)


def data_of(data: dict[str, Any]) -> dict[str, Any]:
    """The parts of a Logic that say how a source or sink has its data."""
    known = {each.name for each in fields(Logic)} & set(DATA)
    own = {name: value for name, value in data.items() if name in known}
    options = {name: value for name, value in data.items() if name not in known}
    return {**own, "options": options_of(options)}


def options_of(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """As Spark reads them: true and false in lower case."""
    return tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in options.items()
    )


def import_path(call: Function) -> str | None:
    """`module:function` if that is how to import it."""
    module, name = getattr(call, "__module__", None), getattr(call, "__qualname__", "")
    if module in (None, "__main__") or not name.isidentifier():
        return None
    found = getattr(sys.modules.get(module), name, None)
    return f"{module}:{name}" if found is call else None
