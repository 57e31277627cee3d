"""The level of a keyed aggregate: Spark's own groupBy, with other streams passing by.

In real-time mode Spark answers every row at once, with the aggregate so far. All rows of the query
go through it, so a tuple that only passes gets a group that is its partition's own (`_salt`), and
the last tuple of that group is itself. Its state is one row per partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions
from pyspark.sql.types import StructType

from slotwise.model import Logic, SlotwiseError, counted
from slotwise.spark.query.expressions import (
    ONE_BY_ONE,
    REFUSALS,
    check_keys,
    field,
    fields_of,
    first_sentence,
    in_users_words,
    key_column,
    view,
)
from slotwise.spark.query.keys import keys_of
from slotwise.spark.query.routing import OWN_SALT, Routes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


BY, HAVING, LATENESS = "by", "having", "lateness"
"""The keys to group by, a condition on the answers, and how late tuples may come to a window before
it closes; whatever else a spec says is a result."""
WATERMARK = "spark.watermarkDelayMs"
"""In the metadata of a column by which Spark closes groups."""


def results_of(logic: Logic) -> dict[str, str]:
    """The named results of an aggregate, as Spark SQL."""
    return {name: text for name, text in logic.aggregate if name not in (BY, HAVING, LATENESS)}


def keys_by(logic: Logic) -> tuple[str, ...]:
    """The keys of an aggregate, or of what is to be distinct."""
    return logic.distinct or logic.stateful or keys_of(dict(logic.aggregate)[BY])


def lateness_of(logic: Logic) -> str | None:
    """How late tuples may come to windows that close; None: every tuple is answered."""
    return dict(logic.aggregate).get(LATENESS)


def aggregated(frame: DataFrame, routes: Routes, own: int, record: str) -> tuple[DataFrame, str]:
    """(the rows after the aggregate `own`, with its results in `_out`; what was done, as text).

    `record` is the column that brings the aggregate its input tuples.
    """
    logic = routes.layout.topology.operators[own].logic
    seen, keys, made = view(frame, record), keys_by(logic), results_of(logic)
    names = check_keys(seen, keys, "it is grouped by")
    _check_results(seen, names, made)
    results = [functions.expr(text) for text in made.values()]
    answer = functions.struct(
        *(functions.col(f"_key{n}").alias(name) for n, name in enumerate(names)),
        *(functions.col(f"_made{n}").alias(name) for n, name in enumerate(made)),
    )
    text = f"{by_hash(routes, own, keys)}; {', '.join(made.values())}"
    if (lateness := lateness_of(logic)) is not None:
        text = f"{text}; once, {lateness} after a window"
    return grouped(frame, routes, own, record, results, answer), text


def by_hash(routes: Routes, own: int, keys: Iterable[str]) -> str:
    """The shuffle to the level of the keyed operator, as text."""
    partitions = counted(routes.layout.tasks[own], "partition")
    return f"→ {partitions} by hash({', '.join(keys)})"


def grouped(
    frame: DataFrame, routes: Routes, own: int, record: str, results: list[Column], answer: Column
) -> DataFrame:
    """The rows after Spark's groupBy. `answer` is a struct of `_key{n}`, and of `_made{n}`, which
    has result n; the results are computed of the fields of `record`.
    """
    passing = routes.layout.passing(routes.layout.level[own])
    carried = [name for name in frame.columns if name != "_hop"]
    keys = dict(enumerate(keys_by(routes.layout.topology.operators[own].logic)))
    bound = with_inputs(frame, own, record, {f"_key{n}": key for n, key in keys.items()})
    groups = [f"_key{n}" for n in keys]
    also = [functions.max("id").alias("id"), functions.max("ts").alias("ts")]
    if passing:
        groups.insert(0, "_salt")
        bound = bound.withColumns(_passing(routes, own, carried))
        also.append(functions.last("_passed").alias("_passed"))
    lateness = lateness_of(routes.layout.topology.operators[own].logic)
    if lateness is not None:
        bound = _with_windows_that_close(bound, lateness, groups)
    made = [result.alias(f"_made{n}") for n, result in enumerate(results)]
    answers = bound.groupBy(*groups).agg(*made, *also)
    return _answers(answers, own, answer, carried if passing else [])


def _with_windows_that_close(bound: DataFrame, lateness: str, keys: list[str]) -> DataFrame:
    """By the watermark of the tuples' times: Spark answers a group once, when its window has ended
    before it. Our windows are ordinary values, so Spark has to be told that they are windows.
    """
    window = next((key for key in keys if _is_window(bound, key)), None)
    if window is None:
        raise SlotwiseError(
            "it has lateness, and none of its keys is a window: add one, such as "
            "window(ts, '1 minute')"
        )
    timed = bound.withColumn("_event", functions.expr("timestamp_micros(ts)"))
    try:
        timed = timed.withWatermark("_event", lateness)
    except REFUSALS as error:
        raise SlotwiseError(f"its lateness is '{lateness}': {first_sentence(error)}") from None
    delay_ms = timed.schema["_event"].metadata[WATERMARK]
    return timed.withMetadata(window, {WATERMARK: delay_ms})


def _is_window(frame: DataFrame, key: str) -> bool:
    found = frame.schema[key].dataType
    return isinstance(found, StructType) and found.names == ["start", "end"]


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
    except REFUSALS as error:
        problem = in_users_words(error, seen.columns)
        if problem == ONE_BY_ONE:
            problem = "expected an aggregate, such as count(*), sum(x) or any_value(x)"
        raise SlotwiseError(f"its result '{name}' is {text}: {problem}") from None


def with_inputs(frame: DataFrame, own: int, record: str, keys: Mapping[str, str]) -> DataFrame:
    """With the fields of the keyed operator's input tuples, and its keys; NULL for those that pass.

    `keys`: column -> key.
    """
    mine = functions.expr(f"_operator = {own}")
    names = fields_of(frame, record)
    bound = frame.withColumns({name: functions.when(mine, field(record, name)) for name in names})
    known = [*names, "id", "ts"]
    return bound.withColumns(
        {column: functions.when(mine, key_column(key, known)) for column, key in keys.items()}
    )


def _passing(routes: Routes, own: int, carried: list[str]) -> dict[str, Column]:
    mine = f"_operator = {own}"
    salts = f"element_at(array({', '.join(map(str, routes.salts))}), 1 + _hop)"
    return {
        "_salt": functions.expr(f"IF({mine}, {OWN_SALT}, {salts})"),
        "_passed": functions.expr(f"IF({mine}, NULL, struct({', '.join(carried)}))"),
    }


def _answers(grouped: DataFrame, own: int, answer: Column, carried: Iterable[str]) -> DataFrame:
    """Rows between levels again: the answers, or the tuples that passed."""
    ours = {"_operator": f"{own}", "_thread": "spark_partition_id()", "id": "id", "ts": "ts"}
    if not carried:
        rows = [functions.expr(sql).alias(name) for name, sql in ours.items()]
        return grouped.select(*rows, answer.alias(f"_out{own}"))
    rows = [
        functions.expr(f"IF(_passed IS NULL, {ours.get(name, 'NULL')}, _passed.{name})").alias(name)
        for name in carried
    ]
    is_answer = functions.expr("_passed IS NULL")
    return grouped.select(*rows, functions.when(is_answer, answer).alias(f"_out{own}"))
