"""The level of an operator that keeps a state for each key: Spark's transformWithState.

What it computes is a class of the user's, a StatefulProcessor of Spark's, whose methods get rows
and return rows with the fields of `schema`. A row that it returns gets the id and the time of the
last tuple of its key in the batch; one that a timer returns, of the last tuple before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import Row, functions
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import LongType, StructField, StructType

from slotwise.model import SlotwiseError
from slotwise.spark.query.aggregate import by_hash, keys_by, with_inputs
from slotwise.spark.query.expressions import check_keys, fields_of, first_sentence, view
from slotwise.spark.query.functions import Function
from slotwise.spark.query.names import quoted
from slotwise.spark.query.records import RESERVED, record_type
from slotwise.spark.query.routing import Routes

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LAST = "slotwise_last"
"""A state beside those of the user: id and time of the last tuple."""


def with_state(
    frame: DataFrame, routes: Routes, own: int, record: str, function: Function
) -> tuple[DataFrame, str]:
    """(the rows that the operator returns, in `_out`; what was done, as text)."""
    logic = routes.layout.topology.operators[own].logic
    keys = keys_by(logic)
    check_keys(view(frame, record), keys, "its states are by")
    try:
        made = record_type(StructType.fromDDL(logic.schema or ""))
    except PySparkException as error:
        raise SlotwiseError(f"its schema: {first_sentence(error)}") from None
    fields = fields_of(frame, record)
    bound = with_inputs(frame, own, record, {f"_key{n}": key for n, key in enumerate(keys)})
    groups = [f"_key{n}" for n in range(len(keys))]
    rows = bound.select([*groups, *RESERVED, *map(quoted, fields)])
    own_fields = [StructField(name, LongType()) for name in RESERVED]
    schema = StructType([*own_fields, StructField("made", made)])
    for module in {__name__, function.call.__module__}:
        cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
    answers = rows.groupBy(*groups).transformWithState(
        Keeping(function.call, fields, made.names), schema, "Update", "ProcessingTime"
    )
    columns: list[Column | str] = [
        functions.lit(own).alias("_operator"),
        functions.expr("spark_partition_id()").alias("_thread"),
        *RESERVED,
        functions.col("made").alias(f"_out{own}"),
    ]
    return answers.select(columns), f"{by_hash(routes, own, keys)}; {function.name}"


class Keeping(StatefulProcessor):
    """The user's processor, which sees its tuples only, and whose rows get an id and a time."""

    def __init__(self, made: Any, fields: list[str], names: list[str]) -> None:
        self.made, self.fields, self.names = made, fields, names

    def init(self, handle: Any) -> None:
        self.last = handle.getValueState(LAST, "id BIGINT, ts BIGINT")
        self.user = self.made()
        self.user.init(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802
        taken = list(rows)
        last = taken[-1]["id"], taken[-1]["ts"]
        self.last.update(last)
        tuples = (Row(**{name: row[name] for name in ("id", "ts", *self.fields)}) for row in taken)
        yield from self._marked(last, self.user.handleInputRows(key, tuples, timerValues))

    def handleExpiredTimer(  # noqa: N802
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        made = self.user.handleExpiredTimer(key, timerValues, expiredTimerInfo)
        yield from self._marked(tuple(self.last.get()), made)

    def _marked(self, last: tuple[int, int], rows: Any) -> Iterator[Row]:
        for row in rows or ():
            made = Row(**{name: row[name] for name in self.names})
            yield Row(id=last[0], ts=last[1], made=made)

    def close(self) -> None:
        self.user.close()
