"""Fields of a static table, added to tuples: Spark's broadcast hash join.

The table is read at the beginning of each batch, and sent to all executors. Its rows are one array
for each key, so an operator that joins is one that makes several tuples of one.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions

from slotwise.model import Join, SlotwiseError
from slotwise.spark.query.expressions import (
    REFUSALS,
    check_keys,
    field,
    fields_of,
    first_sentence,
    key_column,
    view,
    with_columns,
)
from slotwise.spark.query.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MATCHES = "_matches"


def with_joined(frame: DataFrame, join: Join, own: str, out: str) -> tuple[DataFrame, str]:
    """(the frame with `out`, an array of the tuples that one of `own` becomes; as text).

    Raises SlotwiseError, without the operator's name, for what Spark refuses.
    """
    seen, table = view(frame, own), _table(frame.sparkSession, join)
    added = [name for name in table.columns if name not in join.on]
    _check_names(seen.columns, added)
    check_keys(seen, join.on, "it is joined on")
    columns = {f"_on{n}": key_column(name, seen.columns) for n, name in enumerate(join.on)}
    keyed = _by_key(table, join.on, added)
    same = [functions.col(f"_on{n}") == functions.col(f"_table{n}") for n in range(len(join.on))]
    joined = with_columns(frame, own, columns).join(
        functions.broadcast(keyed), reduce(and_, same), "left"
    )
    matches = functions.col(MATCHES)
    if join.how == "left":
        matches = functions.coalesce(matches, functions.array(functions.lit(None)))
    fields = [field(own, name).alias(name) for name in fields_of(frame, own)]

    def tuple_of(row: Column) -> Column:
        return functions.struct(*fields, *(row.getField(name).alias(name) for name in added))

    made = functions.when(functions.col(own).isNotNull(), functions.transform(matches, tuple_of))
    text = f"{out} = {own} with {', '.join(added)} of {join.table} by {', '.join(join.on)}"
    return joined.withColumn(out, made).drop(*columns, *keyed.columns), text


def _table(spark: SparkSession, join: Join) -> DataFrame:
    try:
        reader = spark.read.format(join.format).schema(join.schema)
        table = reader.options(**dict(join.options)).load(join.table)
    except REFUSALS as error:
        raise SlotwiseError(f"its table '{join.table}': {first_sentence(error)}") from None
    for name in join.on:
        if name not in table.columns:
            raise SlotwiseError(
                f"its table '{join.table}' has no field '{name}': it has {', '.join(table.columns)}"
            )
    return table


def _check_names(fields: list[str], added: list[str]) -> None:
    if not added:
        raise SlotwiseError("its table has no fields but those of 'on': use where or add a field")
    known = {name.lower() for name in fields}
    for name in added:
        if name.lower() in known:
            raise SlotwiseError(
                f"its table and its tuples both have the field '{name}': give it another name in "
                "the table's schema"
            )


def _by_key(table: DataFrame, on: tuple[str, ...], added: list[str]) -> DataFrame:
    """One row per key: `_table{n}`, and `_matches`, an array of the table's other fields."""
    keys = [functions.col(quoted(name)).alias(f"_table{n}") for n, name in enumerate(on)]
    others = functions.struct(*(functions.col(quoted(name)) for name in added))
    return table.groupBy(*keys).agg(functions.collect_list(others).alias(MATCHES))
