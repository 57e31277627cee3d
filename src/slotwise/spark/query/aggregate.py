"""The level of a keyed aggregate: Spark's own groupBy, with other streams passing by.

In real-time mode Spark answers every row at once, with the aggregate so far. All rows of the query
go through it, so a tuple that only passes gets a group that is its partition's own (`_salt`), and
the last tuple of that group is itself. Its state is one row per partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions

from slotwise.model import Logic, SlotwiseError, counted
from slotwise.spark.query.expressions import check_keys, field, in_users_words, key_column, view
from slotwise.spark.query.keys import keys_of
from slotwise.spark.query.routing import OWN_SALT, Routes

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
    logic = routes.layout.topology.operators[own].logic
    passing = routes.layout.passing(routes.layout.level[own])
    carried = [name for name in frame.columns if name != "_hop"]
    keys, made = keys_of(dict(logic.aggregate)[BY]), results_of(logic)
    seen = view(frame, record)
    names = check_keys(seen, keys, "it")
    _check_results(seen, names, made)
    groups = [f"_key{number}" for number in range(len(keys))]
    also = [functions.max("id").alias("id"), functions.max("ts").alias("ts")]
    bound = _with_inputs(frame, own, record, dict(zip(groups, keys, strict=True)))
    if passing:
        groups.insert(0, "_salt")
        bound = bound.withColumns(_passing(routes, carried))
        also.append(functions.last("_passed").alias("_passed"))
    results = [functions.expr(text).alias(f"_made{n}") for n, text in enumerate(made.values())]
    grouped = bound.groupBy(*groups).agg(*results, *also)
    partitions = counted(routes.layout.tasks[own], "partition")
    text = f"→ {partitions} by hash({', '.join(keys)}); {', '.join(made.values())}"
    answers = {f"_key{n}": name for n, name in enumerate(names)}
    answers |= {f"_made{n}": name for n, name in enumerate(made)}
    return _answers(grouped, own, answers, carried if passing else []), text


def _check_results(seen: DataFrame, keys: list[str], made: Mapping[str, str]) -> None:
    taken = {name.lower(): f"its key '{name}'" for name in keys}
    if len(taken) < len(keys):
        raise SlotwiseError(
            f"its keys are named {', '.join(keys)}: give each a name of its own, as in "
            "upper(country) AS land"
        )
    for name, text in made.items():
        if name.lower() in taken:
            raise SlotwiseError(
                f"its result '{name}' has the name of {taken[name.lower()]}: choose another name"
            )
        taken[name.lower()] = f"its result '{name}'"
        _check_result(seen, name, text)


def _check_result(seen: DataFrame, name: str, text: str) -> None:
    try:
        seen.agg(functions.expr(text))
    except PySparkException as error:
        problem = in_users_words(error, seen.columns)
        if error.getCondition() in ("MISSING_GROUP_BY", "MISSING_AGGREGATION"):
            problem = "expected an aggregate, such as count(*), sum(x) or any_value(x)"
        raise SlotwiseError(f"its result '{name}' is {text}: {problem}") from None


def _with_inputs(frame: DataFrame, own: int, record: str, keys: Mapping[str, str]) -> DataFrame:
    """With the fields of the aggregate's input tuples, and its keys; NULL for those that pass."""
    mine = functions.expr(f"_operator = {own}")
    names = [name for name in view(frame, record).columns if name not in ("id", "ts")]
    bound = frame.withColumns({name: functions.when(mine, field(record, name)) for name in names})
    known = [*names, "id", "ts"]
    return bound.withColumns(
        {column: functions.when(mine, key_column(key, known)) for column, key in keys.items()}
    )


def _passing(routes: Routes, carried: list[str]) -> dict[str, Column]:
    mine = f"_operator = {routes.layout.aggregate}"
    salts = f"element_at(array({', '.join(map(str, routes.salts))}), 1 + _hop)"
    return {
        "_salt": functions.expr(f"IF({mine}, {OWN_SALT}, {salts})"),
        "_passed": functions.expr(f"IF({mine}, NULL, struct({', '.join(carried)}))"),
    }


def _answers(
    grouped: DataFrame, own: int, answers: Mapping[str, str], carried: Iterable[str]
) -> DataFrame:
    """Rows between levels again: the aggregate's results, or the tuples that passed.

    `answers`: column -> the name that it has in the aggregate's tuples.
    """
    made = functions.struct(
        *(functions.col(column).alias(name) for column, name in answers.items())
    )
    ours = {"_operator": f"{own}", "_thread": "spark_partition_id()", "id": "id", "ts": "ts"}
    if not carried:
        rows = [functions.expr(sql).alias(name) for name, sql in ours.items()]
        return grouped.select(*rows, made.alias(f"_out{own}"))
    rows = [
        functions.expr(f"IF(_passed IS NULL, {ours.get(name, 'NULL')}, _passed.{name})").alias(name)
        for name in carried
    ]
    is_answer = functions.expr("_passed IS NULL")
    return grouped.select(*rows, functions.when(is_answer, made).alias(f"_out{own}"))
