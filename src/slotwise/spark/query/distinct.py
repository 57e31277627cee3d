"""The level of an operator that sends on the first of all tuples with the same keys.

In real-time mode Spark answers every row of an aggregate at once, so the first is the one that is
answered with a count of 1, and other streams pass by as they do at any aggregate. With
micro-batches Spark removes the duplicates itself. Either way a key is remembered for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions

from slotwise.spark.query.aggregate import by_hash, grouped, keys_by, with_inputs
from slotwise.spark.query.expressions import check_keys, field, fields_of, view
from slotwise.spark.query.routing import Routes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_distinct(
    frame: DataFrame, routes: Routes, own: int, record: str, *, at_once: bool
) -> tuple[DataFrame, str]:
    """(the rows after the operator `own`, those that are first in `_out`; what was done, as text).

    `record` is the column that brings it its tuples; `at_once`: Spark answers every row.
    """
    keys = keys_by(routes.layout.topology.operators[own].logic)
    check_keys(view(frame, record), keys, "it is distinct by")
    text = f"{by_hash(routes, own, keys)}; the first of each"
    if at_once:
        tuples = functions.struct(
            *(field(record, name).alias(name) for name in fields_of(frame, record))
        )
        results = [functions.first(tuples), functions.count("*")]
        first = functions.when(functions.col("_made1") == 1, functions.col("_made0"))
        return grouped(frame, routes, own, record, results, first), text
    columns = {f"_key{n}": key for n, key in enumerate(keys)}
    rows = with_inputs(frame, own, record, columns).dropDuplicates(list(columns))
    return rows.select(
        functions.lit(own).alias("_operator"),
        functions.expr("spark_partition_id()").alias("_thread"),
        "id",
        "ts",
        functions.col(record).alias(f"_out{own}"),
    ), text
