"""The level of a keyed aggregate: Spark's own groupBy, with other streams passing by.

In real-time mode Spark answers every row at once, with the aggregate so far. All rows of the query
go through it, so a tuple that only passes gets a group that is its partition's own (`_salt`), and
the last tuple of that group is itself. Its state is one row per partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions

from slotwise.model import Logic, counted
from slotwise.spark.query.routing import OWN_SALT, Routes, field_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


BY, HAVING = "by", "having"
"""The keys to group by, and a condition on the answers; whatever else a spec says is a result."""


def results_of(logic: Logic) -> dict[str, str]:
    """The named results of an aggregate, as Spark SQL."""
    return {name: text for name, text in logic.aggregate if name not in (BY, HAVING)}


def aggregated(frame: DataFrame, routes: Routes, record: str) -> tuple[DataFrame, str]:
    """(the rows after the aggregate, with its results in `_out`; what was done, as text).

    `record` is the column that brings the aggregate its input tuples.
    """
    own = routes.layout.aggregate
    assert own is not None
    passing = routes.layout.passing(routes.layout.level[own])
    carried = [name for name in frame.columns if name != "_hop"]
    columns = _inputs(frame, routes, record)
    keys = [f"_key{number}" for number in range(len(routes.aggregate_keys))]
    also = [functions.max("id").alias("id"), functions.max("ts").alias("ts")]
    if passing:
        keys = ["_salt", *keys]
        columns |= _passing(routes, carried)
        also.append(functions.last("_passed").alias("_passed"))
    made = results_of(routes.layout.topology.operators[own].logic)
    results = [functions.expr(text).alias(f"_made_{name}") for name, text in made.items()]
    grouped = frame.withColumns(columns).groupBy(*keys).agg(*results, *also)
    partitions = counted(routes.layout.tasks[own], "partition")
    text = f"→ {partitions} by hash({', '.join(keys)}); {', '.join(made.values())}"
    return _answers(grouped, routes, list(made), carried if passing else []), text


def _inputs(frame: DataFrame, routes: Routes, record: str) -> dict[str, Column]:
    """The fields of the aggregate's input tuples, NULL for those that pass, and its keys."""
    mine = f"_operator = {routes.layout.aggregate}"
    fields = frame.select(f"{record}.*").columns
    keys = {f"_key{number}": key for number, key in enumerate(routes.aggregate_keys)}
    return {
        name: functions.expr(f"IF({mine}, {field_of(record, field)}, NULL)")
        for name, field in {**dict(zip(fields, fields, strict=True)), **keys}.items()
    }


def _passing(routes: Routes, carried: list[str]) -> dict[str, Column]:
    mine = f"_operator = {routes.layout.aggregate}"
    salts = f"element_at(array({', '.join(map(str, routes.salts))}), 1 + _hop)"
    return {
        "_salt": functions.expr(f"IF({mine}, {OWN_SALT}, {salts})"),
        "_passed": functions.expr(f"IF({mine}, NULL, struct({', '.join(carried)}))"),
    }


def _answers(grouped: DataFrame, routes: Routes, made: list[str], carried: list[str]) -> DataFrame:
    """Rows between levels again: the aggregate's results, or the tuples that passed."""
    own = routes.layout.aggregate
    pairs = [f"'{key}', _key{number}" for number, key in enumerate(routes.aggregate_keys)]
    pairs += [f"'{name}', `_made_{name}`" for name in made]
    out = f"named_struct({', '.join(pairs)})"
    ours = {"_operator": f"{own}", "_thread": "spark_partition_id()", "id": "id", "ts": "ts"}
    if not carried:
        rows = [f"{sql} AS {name}" for name, sql in ours.items()]
        return grouped.selectExpr(*rows, f"{out} AS _out{own}")
    return grouped.selectExpr(
        *(
            f"IF(_passed IS NULL, {ours.get(name, 'NULL')}, _passed.{name}) AS {name}"
            for name in carried
        ),
        f"IF(_passed IS NULL, {out}, NULL) AS _out{own}",
    )
