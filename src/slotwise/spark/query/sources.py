"""Level 0: every source's data, side by side in one frame."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.types import StructType

from slotwise.model import Schedule, SlotwiseError
from slotwise.paced import data_set, pace_of
from slotwise.spark.query import generated
from slotwise.spark.query.levels import Layout
from slotwise.spark.query.records import RESERVED, Records

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def read(
    spark: SparkSession,
    layout: Layout,
    rate: float,
    records: Records,
    schedule: Schedule | None = None,
) -> DataFrame:
    """The sources' rows, as rows between levels are; partitions follow in the operators' order.

    A source is the data source `paced`, at its share of `rate`, unless its options name another
    `format`; that one must give the columns `id` (BIGINT) and `ts` (BIGINT, µs). `schedule` is in
    place of those that paced sources have in their options.
    """
    operators = [layout.topology.operators[source] for source in layout.levels[0]]
    if schedule is not None and not any(pace_of(operator) for operator in operators):
        raise SlotwiseError("a schedule needs a paced source: the sources of this topology are not")
    frames = [_frame(spark, layout, source, rate, schedule) for source in layout.levels[0]]
    for source, frame in zip(layout.levels[0], frames, strict=True):
        fields = [column for column in frame.schema if column.name not in RESERVED]
        records.raw[source] = StructType(fields)
    rows = [
        frame.select(*_columns(layout, source, records))
        for source, frame in zip(layout.levels[0], frames, strict=True)
    ]
    return reduce(lambda one, other: one.union(other), rows)


def _columns(layout: Layout, source: int, records: Records) -> list[Column]:
    fields = records.raw[source]
    own = functions.struct(*(functions.col(f"`{name}`") for name in fields.names))
    columns = {records.column(other): other for other in records.raw.values()}
    thread = functions.expr(f"spark_partition_id() - {layout.first_partition[source]}")
    return [
        functions.lit(source).alias("_operator"),
        thread.alias("_thread"),
        functions.col("id"),
        functions.col("ts"),
        *(
            (own if made == fields else functions.lit(None).cast(made)).alias(name)
            for name, made in columns.items()
        ),
    ]


def points(schedule: Schedule, rate: float) -> dict[str, str]:
    """The options of `paced` that follow a schedule, with `rate` as the nominal one."""
    made = {"points": ",".join(f"{float(at)}:{float(f * rate)}" for at, f in schedule.points)}
    return made if schedule.period_s is None else {**made, "period": str(float(schedule.period_s))}


def _frame(
    spark: SparkSession, layout: Layout, source: int, rate: float, schedule: Schedule | None
) -> DataFrame:
    operator = layout.topology.operators[source]
    pace = pace_of(operator)
    if pace is None:
        options = dict(operator.logic.options)
        kind = options.pop("format")
    else:
        kind = "paced"
        follows = schedule or pace.schedule or Schedule.constant()
        options = {
            **pace.others,
            **points(follows, rate * operator.share),
            "delayMs": str(round(1000 * pace.delay_s)),
            "partitions": str(layout.threads[source]),
        }
        if (name := data_set(options.get("payload", "id"))) is not None:
            options["payload"] = f"file({generated.file_of(name)})"
    try:
        frame = spark.readStream.format(kind).options(**options).load()
    except (PySparkException, Py4JJavaError) as error:
        raise SlotwiseError(f"source '{operator.name}': {str(error).splitlines()[0]}") from None
    types = {column.name: column.dataType.simpleString() for column in frame.schema}
    for name in RESERVED:
        if types.get(name) != "bigint":
            raise SlotwiseError(
                f"source '{operator.name}': {kind} has no column '{name}' of type BIGINT; it has "
                f"{', '.join(types)}"
            )
    return frame
