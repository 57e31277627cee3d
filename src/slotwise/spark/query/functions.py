"""Operators written in Python: functions of PySpark columns, of Arrow batches, or Python UDFs.

A function is bound to its operator by the spec (`python: module:function`) or by name when the
plan is launched. Its parameters are called as the fields of the operator's input tuples; one with a
default may be none of them:

    def parse(value):                      # of columns: runs inside Spark, in real-time mode too
        return F.from_json(value, "text STRING").text

    def parse(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:    # of Arrow batches
        ...

    @pandas_udf(StringType())              # a UDF: called with batches, too (see `udfs`)
    def parse(value: pd.Series) -> pd.Series:
        ...

A sink with `format: foreach` calls its function with Arrow batches, whatever it returns.

One whose result is annotated as pyarrow.RecordBatch gets its input tuples as batches with the
columns `id`, `ts` and the tuples' fields. A result without `id` and `ts` has one row for every
input row, in their order.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise import formats
from slotwise.model import Operator, SlotwiseError, Topology
from slotwise.spark.query import udfs
from slotwise.spark.query.records import WHOLE
from slotwise.spark.query.traces import is_in_pyspark, place_of, what_of
from slotwise.suggestions import instead_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column

NO_SESSION = "SESSION_OR_CONTEXT_NOT_EXISTS"


@dataclass(frozen=True)
class Function:
    """What an operator computes in Python."""

    name: str
    given: Callable[..., Any]
    """As the user has bound it."""
    call: Callable[..., Any]
    """As it is called: with columns, or with a batch."""
    on_batches: bool
    parameters: tuple[Parameter, ...]
    """Named as fields, but that of a function of batches."""

    @property
    def runs_python(self) -> bool:
        """Whether tuples pass through Python processes, as far as that can be seen in the code."""
        return self.on_batches or udfs.are_called_by(self.given)

    @property
    def takes_fields(self) -> bool:
        return not self.on_batches or udfs.is_udf(self.given)

    def of_columns(self, known: Sequence[str]) -> Column:
        """What it makes of the columns of these names. Raises SlotwiseError if that is none."""
        from pyspark.sql import Column
        from pyspark.sql.functions import col

        from slotwise.spark.query.names import quoted

        named = {name: col(quoted(name)) for name in self.taken(known)}
        by_place = [
            named.pop(p.name) for p in self.parameters if p.kind is Parameter.POSITIONAL_ONLY
        ]
        try:
            made = self.call(*by_place, **named)
        except Exception as error:
            raise SlotwiseError(f"it fails when called with columns: {what_of(error)}") from None
        if not isinstance(made, Column):
            raise SlotwiseError(f"it returned {type(made).__name__}, not Column")
        return made

    def taken(self, known: Sequence[str]) -> list[str]:
        """The fields that it takes. Raises SlotwiseError for one that is not known."""
        for parameter in self.parameters:
            if parameter.name not in known and parameter.default is Parameter.empty:
                raise SlotwiseError(
                    f"it has a parameter '{parameter.name}', but its tuples have "
                    f"{', '.join(name for name in known if name != WHOLE)}"
                )
        return [parameter.name for parameter in self.parameters if parameter.name in known]

    @property
    def defined(self) -> str:
        """Its name, and where it is in the user's code."""
        code = getattr(inspect.unwrap(self.given), "__code__", None)
        if code is None:
            return self.name
        return f"{self.name} ({Path(code.co_filename).name}, line {code.co_firstlineno})"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"


def functions_of(
    topology: Topology, bound: Mapping[str, Callable[..., Any]] | None = None
) -> dict[int, Function]:
    """Operator position -> its function; what is in `bound` goes before the spec's `python`.

    Raises SlotwiseError, naming the operator and the user's line.
    """
    for name in bound or {}:
        if name not in topology.index:
            raise SlotwiseError(f"a function is bound to '{name}', but there is no such operator")
    found = {}
    for position, operator in enumerate(topology.operators):
        try:
            call = (bound or {}).get(operator.name) or imported(operator.logic.python)
            if call is not None:
                made = _function(operator, call)
                found[position] = _writing(made) if formats.calls_python(operator) else made
            elif formats.calls_python(operator):
                raise SlotwiseError(
                    "its format is foreach: add python: module:function, or options: {class: NAME}"
                )
        except SlotwiseError as error:
            raise SlotwiseError(f"operator '{operator.name}': {error}") from None
    return found


def _keeping_state(name: str, call: Callable[..., Any]) -> Function:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    if not (inspect.isclass(call) and issubclass(call, StatefulProcessor)):
        raise SlotwiseError(
            f"{name} is no class of a StatefulProcessor (pyspark.sql.streaming), which a stateful "
            "operator needs"
        )
    return Function(name, call, call, False, ())


def _writing(function: Function) -> Function:
    """Of a sink: called with batches for what it does with them. They are the sink's tuples."""
    if udfs.is_udf(function.given):
        raise SlotwiseError(
            f"{function.name} is a Python UDF, and the format is foreach: use a function of an "
            "Arrow batch"
        )
    write = function.given

    def written(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        if batch.num_rows:  # an empty one only asks for the fields
            write(batch)
        return batch

    written.__module__ = write.__module__
    return replace(function, call=written, on_batches=True)


def imported(path: str | None) -> Callable[..., Any] | None:
    """What a spec names as `python`. Raises SlotwiseError if it cannot be imported."""
    if path is None:
        return None
    module_name, colon, name = path.partition(":")
    if not (module_name and colon and name):
        raise SlotwiseError(f"invalid python '{path}': expected module:function")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise SlotwiseError(f"cannot import '{path}': {_why(error)}") from None
    if not hasattr(module, name):
        own = [known for known, value in vars(module).items() if inspect.isfunction(value)]
        raise SlotwiseError(
            f"cannot import '{path}': {module_name} has no '{name}': {instead_of(name, own)}"
        )
    call: Callable[..., Any] = getattr(module, name)
    return call


def _why(error: BaseException) -> str:
    if NO_SESSION in str(error) or (isinstance(error, AssertionError) and is_in_pyspark(error)):
        return (
            f"{place_of(error)}: this needs a Spark session, and modules are imported before there "
            "is one: move it into the function, or give types as objects, such as StringType()"
        )
    return what_of(error)


def _function(operator: Operator, call: Callable[..., Any]) -> Function:
    if not callable(call):
        raise SlotwiseError(f"its python is {call!r}: expected a function")
    name = getattr(call, "__qualname__", type(call).__qualname__)
    if operator.logic.stateful:
        return _keeping_state(name, call)
    is_udf = udfs.is_udf(call)
    if is_udf and operator.logic.flat:
        raise SlotwiseError(
            f"it is flat, and {name} is a Python UDF: use a function of Arrow batches, which "
            "returns a row for each of several tuples"
        )
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        raise SlotwiseError(
            f"the parameters of {name} cannot be read: use a function with named parameters"
        ) from None
    parameters = tuple(signature.parameters.values())
    for parameter in parameters:
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            raise SlotwiseError(
                f"{name} takes {parameter}: name its parameters as the fields that it takes"
            )
    if is_udf:
        return Function(name, call, udfs.on_batches(call), True, parameters)
    # Annotations may be text (from __future__ import annotations): the name is enough.
    return Function(name, call, call, "RecordBatch" in str(signature.return_annotation), parameters)
