"""Operators written in Python: functions of PySpark columns, or of Arrow batches.

A function is bound to its operator by the spec (`python: module:function`) or by name when the
plan is launched. Its parameters are called as the fields of the operator's input tuples:

    def parse(value):                      # of columns: runs inside Spark, in real-time mode too
        return F.from_json(value, "text STRING").text

    def parse(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:    # of Arrow batches
        ...

One whose result is annotated as pyarrow.RecordBatch gets its input tuples as batches with the
columns `id`, `ts` and the tuples' fields. A result without `id` and `ts` has one row for every
input row, in their order.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slotwise.model import SlotwiseError, Topology


@dataclass(frozen=True)
class Function:
    """What an operator computes in Python."""

    name: str
    call: Callable[..., Any]
    on_batches: bool
    parameters: tuple[str, ...]


def functions_of(
    topology: Topology, bound: Mapping[str, Callable[..., Any]] | None = None
) -> dict[int, Function]:
    """Operator position -> its function; what is in `bound` goes before the spec's `python`."""
    for name in bound or {}:
        if name not in topology.index:
            raise SlotwiseError(f"a function is bound to '{name}', but there is no such operator")
    found = {}
    for position, operator in enumerate(topology.operators):
        call: Callable[..., Any] | None = (bound or {}).get(operator.name)
        if call is None and operator.logic.python is not None:
            call = _imported(operator.name, operator.logic.python)
        if call is not None:
            found[position] = _function(operator.name, call)
    return found


def _imported(operator: str, path: str) -> Callable[..., Any]:
    module_name, colon, name = path.partition(":")
    if not (module_name and colon and name):
        raise SlotwiseError(
            f"operator '{operator}': invalid python '{path}': expected module:function"
        )
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        call = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise SlotwiseError(f"operator '{operator}': cannot import '{path}': {error}") from None
    if not callable(call):
        raise SlotwiseError(f"operator '{operator}': '{path}' is not a function")
    return call  # type: ignore[no-any-return]


def _function(operator: str, call: Callable[..., Any]) -> Function:
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        raise SlotwiseError(
            f"operator '{operator}': cannot read the parameters of {call}"
        ) from None
    # Annotations may be text (from __future__ import annotations): the name is enough.
    on_batches = "RecordBatch" in str(signature.return_annotation)
    name = getattr(call, "__qualname__", repr(call))
    return Function(name, call, on_batches, tuple(signature.parameters))
