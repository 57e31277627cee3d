"""What users write, over the fields of their tuples: Spark SQL and functions of columns.

It sees the tuple's fields, `id`, `ts` and the tuple itself, and nothing else of the query. Each
tuple is computed by itself: Spark would drop or add rows of other operators for some functions, so
these are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, functions
from pyspark.sql.types import DataType, StructType

from slotwise.model import SlotwiseError
from slotwise.spark.query.keys import field_named
from slotwise.spark.query.names import quoted
from slotwise.spark.query.records import RESERVED, WHOLE
from slotwise.suggestions import instead_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TIME = ": ts is the time in µs, a BIGINT, so use timestamp_micros(ts) where a TIMESTAMP is expected"
ONE_BY_ONE = (
    "an expression has one value for each tuple by itself: use 'aggregate' to group tuples, and "
    "'flat' with an array to make several of one"
)
REFUSALS = (PySparkException, Py4JJavaError)
"""What Spark raises for an expression; the second where it has not expected such a one."""
NOT_ONE_BY_ONE = (
    "MISSING_GROUP_BY",
    "MISSING_AGGREGATION",
    "UNSUPPORTED_GENERATOR",
    "INVALID_USAGE_OF_STAR_OR_REGEX",
)


def field(record: str, name: str) -> Column:
    """A field of a tuple; `id` and `ts` are columns of their own.

    `record` is the struct's column, one of the query's own.
    """
    return functions.col(name if name in RESERVED else f"{record}.{quoted(name)}")


def view(frame: DataFrame, record: str) -> DataFrame:
    """The tuples as users see them: their fields, id, ts, and `_record`, the tuple itself."""
    fields = [field(record, name).alias(name) for name in fields_of(frame, record)]
    return frame.select(*fields, *RESERVED, functions.col(record).alias(WHOLE))


def fields_of(frame: DataFrame, record: str) -> list[str]:
    found: DataType = frame.schema[record].dataType
    assert isinstance(found, StructType)
    return list(found.names)


def with_columns(frame: DataFrame, record: str, columns: Mapping[str, Column]) -> DataFrame:
    """The frame with columns that are computed of the record's fields, by their names."""
    there = functions.col(record).isNotNull()
    names = fields_of(frame, record)
    fields = {name: field(record, name) for name in names}
    bound = frame.withColumns({**fields, WHOLE: functions.col(record)})
    # NULL for other operators' tuples. A condition on the input also keeps its meter in the query
    # when the logic does not look at it.
    added = {name: functions.when(there, column) for name, column in columns.items()}
    return bound.withColumns(added).drop(*names, WHOLE)


def checked(seen: DataFrame, make: Callable[[], Column]) -> Column:
    """The column that is made. Raises SlotwiseError unless each tuple of the view has a value of
    its own, by itself.
    """
    try:
        made = make()
        found = _analyzed(seen.select(made))
    except REFUSALS as error:
        raise SlotwiseError(in_users_words(error, seen.columns)) from None
    is_plain = found.nodeName() == "Project" and found.child().fastEquals(_analyzed(seen))
    if is_plain and found.output().size() == 1:
        return made
    raise SlotwiseError(ONE_BY_ONE)


def key_column(key: str, fields: Iterable[str]) -> Column:
    """The key's value: of the field with that name, otherwise of Spark SQL."""
    name = field_named(key)
    return functions.col(quoted(name)) if name in fields else functions.expr(key)


def check_keys(seen: DataFrame, keys: Iterable[str], use: str) -> list[str]:
    """The names of the keys' values. Raises SlotwiseError for what is no key of the tuples; `use`
    says what they are for, as in "it is grouped by".
    """
    names, fields = [], {name.lower() for name in seen.columns}
    for key in keys:
        name = field_named(key)
        if name.isidentifier() and name.lower() not in fields:
            # Spark would take `user` and `current_date` for functions.
            raise SlotwiseError(f"{use} '{key}': {_no_field(name, seen.columns)}")
        try:
            found = seen.select(checked(seen, partial(key_column, key, seen.columns)))
            checked(found, lambda: functions.hash("*"))
        except SlotwiseError as error:
            raise SlotwiseError(f"{use} '{key}': {error}") from None
        if not _analyzed(found).expressions().head().deterministic():
            raise SlotwiseError(
                f"{use} '{key}', which may differ each time it is computed: "
                "group by what depends on the tuple only"
            )
        names.append(name if name in seen.columns else found.columns[0])
    return names


def calls_python(frame: DataFrame) -> bool:
    """Whether Spark would call Python processes for a column of the frame."""
    jvm: Any = frame.sparkSession._jvm
    pattern = getattr(jvm, "org.apache.spark.sql.catalyst.trees.TreePattern$")
    return bool(_analyzed(frame).containsPattern(getattr(pattern, "MODULE$").PYTHON_UDF()))


def in_users_words(error: PySparkException | Py4JJavaError, fields: list[str]) -> str:
    """What Spark says, in one sentence that speaks of these fields."""
    if isinstance(error, Py4JJavaError):
        return "it is no expression that Spark can compute"
    condition = str(error.getCondition() or "").partition(".")[0]
    found = error.getMessageParameters() or {}
    if condition == "UNRESOLVED_COLUMN":
        return _no_field(found.get("objectName", "").replace("`", ""), fields)
    if condition in NOT_ONE_BY_ONE:
        return ONE_BY_ONE
    said = first_sentence(error)
    about_time = condition == "DATATYPE_MISMATCH" and '"ts" has the type "BIGINT"' in said
    return f"{said.rstrip('.')}{TIME}" if about_time else said


def first_sentence(error: PySparkException | Py4JJavaError) -> str:
    """Spark's message without its class, its SQL state and the plan that follows."""
    if isinstance(error, Py4JJavaError):
        told = error.java_exception.getMessage() or error.java_exception.toString()
    else:
        told = error.getMessage() or error
    text = str(told).strip().split("\n")[0]
    text = text.partition("] ")[2] or text
    return text.partition(" SQLSTATE")[0].strip().rstrip(".")


def _no_field(name: str, fields: list[str]) -> str:
    names = [each for each in fields if each != WHOLE]
    near, known = instead_of(name, names), ", ".join(names)
    if near.endswith("?"):
        return f"no field '{name}'; {near} It has {known}"
    return f"no field '{name}': it has {known}"


def _analyzed(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()
