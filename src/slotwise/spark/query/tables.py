"""Small tables that a function of a flow looks things up in.

    def enrich(country, amount, countries):
        return F.struct(countries[country].alias("name"), amount)

    orders.map("enrich", enrich, broadcast={"countries": countries_df})

A table is a parameter of the function: a column that maps the values of the table's first field to
its other field, or to a struct of all the others. Its rows are taken when the flow is written, and
are a constant of the query: it is for some hundreds of them. `join` is for larger ones.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, functions
from pyspark.sql.types import ArrayType, StructType

from slotwise.model import SlotwiseError

if TYPE_CHECKING:
    from pyspark.sql import Column

MOST_ROWS = 10_000


@dataclass(frozen=True)
class Table:
    rows: str
    """JSON, an array of objects."""
    fields: tuple[str, ...]
    schema: str
    """Of a row, as JSON."""

    def column(self) -> Column:
        """Key -> value; needs a session."""
        row_type = StructType.fromJson(json.loads(self.schema))
        rows = functions.from_json(functions.lit(self.rows), ArrayType(row_type))
        key, *others = self.fields

        def entry(row: Column) -> Column:
            values = [row.getField(name).alias(name) for name in others]
            return functions.struct(
                row.getField(key), values[0] if len(others) == 1 else functions.struct(*values)
            )

        return functions.map_from_entries(functions.transform(rows, entry))


def with_tables(call: Callable[..., Any], tables: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of the fields alone. Raises SlotwiseError for what is no table of it."""
    signature = inspect.signature(call)
    for name in tables:
        if name not in signature.parameters:
            raise SlotwiseError(f"it has no parameter '{name}' for the table of that name")
    made = {name: _table(name, given) for name, given in tables.items()}

    def of_fields(**fields: Any) -> Any:
        return call(**fields, **{name: table.column() for name, table in made.items()})

    left = [each for each in signature.parameters.values() if each.name not in tables]
    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in left]
    of_fields.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    of_fields.__wrapped__ = call  # type: ignore[attr-defined]
    of_fields.__name__ = getattr(call, "__name__", "map")
    of_fields.__qualname__ = getattr(call, "__qualname__", of_fields.__name__)
    return of_fields


def _table(name: str, given: Any) -> Table:
    if not isinstance(given, DataFrame):
        raise SlotwiseError(f"table '{name}' is a {type(given).__name__}: expected a DataFrame")
    fields = tuple(given.columns)
    if len(fields) < 2:
        raise SlotwiseError(f"table '{name}' has one field: expected a key and something else")
    whole = functions.to_json(functions.struct("*"), {"ignoreNullFields": "false"})
    taken = given.limit(MOST_ROWS + 1).select(whole.alias("row")).collect()
    rows = [json.loads(each["row"]) for each in taken]
    if len(rows) > MOST_ROWS:
        raise SlotwiseError(f"table '{name}' has more than {MOST_ROWS:,} rows: use join")
    counts = Counter(json.dumps(row.get(fields[0])) for row in rows)
    for key, count in counts.items():
        if count > 1 or key == "null":
            problem = f"{count} rows with {fields[0]} = {key}" if count > 1 else "a row without key"
            raise SlotwiseError(f"table '{name}' has {problem}: use join")
    return Table(json.dumps(rows), fields, given.schema.json())
