"""Level 0: every source's data, side by side in one frame.

A source's tuples have an id and a time when they were due:

- `paced` makes them up: 0, 1, 2, … and the moment of its schedule;
- Kafka: the id is the partition × 2⁴⁸ + the offset, the time is the message's timestamp;
- `rate` and `rate-micro-batch`: their `value` and `timestamp`;
- files: a hash of the file's path and the record's place in its batch, and when the file was last
  modified;
- a link: those that its tuples had when they were written to its topic;
- any other format: columns `id` and `ts` if it has them, else a hash of the batch's time and the
  record's place in it, and that time.

A field that the spec names, or one called `id` or `ts`, goes before. Where Spark decides into how
many partitions it reads a batch, a stage of its own reads, and sends every record to a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.types import DataType, StructType

from slotwise.formats import KAFKA, completed_options, is_link, parses_messages, topic_of
from slotwise.model import Operator, Schedule, SlotwiseError, Topology
from slotwise.paced import data_set, pace_of
from slotwise.spark.query import generated
from slotwise.spark.query.levels import Layout
from slotwise.spark.query.names import literal, quoted
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.records import RESERVED, Records
from slotwise.spark.query.sinks import attempted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

OFFSET_BITS = 48
"""Of an id made from a partition and an offset of Kafka's: 32,768 partitions fit above them."""
RATES = ("rate", "rate-micro-batch")
PASSED = "passed"
"""Of a link's record: the id and the time that its tuple had before."""


def read(
    spark: SparkSession,
    of: Outline,
    rate: float,
    records: Records,
    schedule: Schedule | None = None,
) -> DataFrame:
    """The sources' rows, as rows between levels are; partitions follow in the operators' order.

    A source is the data source `paced`, at its share of `rate`, unless it has another format.
    `schedule` is in place of those that paced sources have in their options.
    """
    layout = of.layout
    operators = [layout.topology.operators[source] for source in layout.levels[0]]
    if schedule is not None and not any(pace_of(operator) for operator in operators):
        raise SlotwiseError("a schedule needs a paced source: the sources of this topology are not")
    frames = [_frame(spark, layout, source, rate, schedule) for source in layout.levels[0]]
    for source, frame in zip(layout.levels[0], frames, strict=True):
        fields = [column for column in frame.schema if column.name not in RESERVED]
        records.raw[source] = StructType(fields)
    rows = [
        frame.select(*_columns(of, source, records))
        for source, frame in zip(layout.levels[0], frames, strict=True)
    ]
    found = reduce(lambda one, other: one.union(other), rows)
    if not of.reading_stages:
        return found
    first = layout.first_partition
    hop = " ".join(f"WHEN {i} THEN {first[i]} + _thread" for i in layout.levels[0])
    return found.repartitionById(
        layout.partitions[0], functions.expr(f"CAST(CASE _operator {hop} END AS INT)")
    )


def opened(topology: Topology, position: int, frame: DataFrame) -> DataFrame:
    """The source's records as it gives them to its logic: parsed, with the fields that are the
    tuple's id and time in their place.
    """
    operator = topology.operators[position]
    own, logic = f"_in{position}", operator.logic
    if logic.schema is None or not (logic.format == KAFKA or parses_messages(operator)):
        return frame
    parsed = f"{own}_parsed"
    frame = frame.withColumn(parsed, _parse(topology, position))
    found = frame.schema[parsed].dataType
    assert isinstance(found, StructType)
    given = {} if parses_messages(operator) else dict(_given(operator, found, f"{parsed}."))
    if is_link(operator):
        given = {name: f"coalesce({own}.{PASSED}.{name}, {name})" for name in RESERVED}
    columns = {
        name: functions.expr(f"IF({parsed} IS NULL, {name}, {sql})") for name, sql in given.items()
    }
    kept = ", ".join(
        f"{literal(n)}, {parsed}.{quoted(n)}" for n in found.names if n not in RESERVED
    )
    columns[own] = functions.expr(f"IF({parsed} IS NULL, NULL, named_struct({kept}))")
    return frame.withColumns(columns).drop(parsed)


def _parse(topology: Topology, position: int) -> Column:
    """A value that is not as the schema says fails, and so does one that is missing."""
    own, logic = f"_in{position}", topology.operators[position].logic
    schema = literal(logic.schema or "")
    missing = f"raise_error(concat('no record in the message: ', coalesce({own}.value, 'NULL')))"
    parsed = functions.expr(
        f"coalesce(from_json({own}.value, {schema}, map('mode', 'FAILFAST')), {missing})"
    )
    tried = attempted(topology, position, parsed) if logic.on_error == "skip" else parsed
    return functions.when(functions.col(own).isNotNull(), tried)


def points(schedule: Schedule, rate: float) -> dict[str, str]:
    """The options of `paced` that follow a schedule, with `rate` as the nominal one."""
    made = {"points": ",".join(f"{float(at)}:{float(f * rate)}" for at, f in schedule.points)}
    return made if schedule.period_s is None else {**made, "period": str(float(schedule.period_s))}


def _columns(of: Outline, source: int, records: Records) -> list[Column]:
    fields, layout = records.raw[source], of.layout
    own = functions.struct(*(functions.col(quoted(name)) for name in fields.names))
    columns = {records.column(other): other for other in records.raw.values()}
    thread = f"spark_partition_id() - {layout.first_partition[source]}"
    if of.reading_stages:
        thread = f"CAST(pmod(hash(id), {layout.tasks[source]}) AS INT)"
    return [
        functions.lit(source).alias("_operator"),
        functions.expr(thread).alias("_thread"),
        functions.col("id"),
        functions.col("ts"),
        *(
            (own if made == fields else functions.lit(None).cast(made)).alias(name)
            for name, made in columns.items()
        ),
    ]


def _frame(
    spark: SparkSession, layout: Layout, source: int, rate: float, schedule: Schedule | None
) -> DataFrame:
    operator = layout.topology.operators[source]
    pace = pace_of(operator)
    if pace is None:
        kind, options = operator.logic.format or "", _options(operator)
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
        reader = spark.readStream.format(kind).options(**options)
        # The columns of a topic are Kafka's: the schema is that of its values (see `opened`).
        if operator.logic.schema is not None and kind != KAFKA:
            reader = reader.schema(operator.logic.schema)
        found = reader.load()
        return found if pace is not None else _identified(operator, found)
    except PySparkException as error:
        problem = str(error).splitlines()[0]
    except Py4JJavaError as error:
        problem = str(error.java_exception.getMessage()).splitlines()[0]
    except SlotwiseError as error:
        problem = str(error)
    raise SlotwiseError(f"source '{operator.name}': {problem}") from None


def _options(operator: Operator) -> dict[str, str]:
    if not is_link(operator):
        return completed_options(operator)
    given = {name: value for name, value in completed_options(operator).items() if name != "topic"}
    # What a run before has left is not for this one, unless it goes on from that one's checkpoint.
    chosen = {"subscribe": topic_of(operator), "startingOffsets": "latest"}
    return {**given, **chosen, "includeHeaders": "true"}


def _header(name: str) -> str:
    found = f"element_at(filter(headers, each -> each.key = '{name}'), 1).value"
    return f"CAST(CAST({found} AS STRING) AS BIGINT)"


def _identified(operator: Operator, frame: DataFrame) -> DataFrame:
    """With the columns id and ts."""
    kind = operator.logic.format
    if kind == KAFKA:
        own = {
            "id": f"shiftleft(CAST(partition AS BIGINT), {OFFSET_BITS}) + offset",
            "ts": "unix_micros(timestamp)",
        }
        texts = [f"CAST({name} AS STRING) AS {name}" for name in ("key", "value")]
        if is_link(operator):
            passed = ", ".join(f"'{name}', {_header(name)}" for name in RESERVED)
            texts.append(f"named_struct({passed}) AS {PASSED}")
        return frame.selectExpr(*(f"{sql} AS {name}" for name, sql in own.items()), *texts)
    if kind in RATES:
        own = {"id": "value", "ts": "unix_micros(timestamp)"}
    else:
        place, at = "CAST(current_timestamp() AS STRING)", "current_timestamp()"
        if "_metadata" in _hidden(frame):
            place, at = "_metadata.file_path", "_metadata.file_modification_time"
        own = {
            "id": f"xxhash64({place}, record_place()) & {2**63 - 1}",
            "ts": f"unix_micros({at})",
        }
    own |= dict(_given(operator, frame.schema, ""))
    others = [quoted(name) for name in frame.columns if name not in RESERVED]
    if not others:
        raise SlotwiseError("its records have no fields but id and ts")
    return frame.selectExpr(*(f"{sql} AS {name}" for name, sql in own.items()), *others)


def _hidden(frame: DataFrame) -> tuple[str, ...]:
    """The metadata columns of a source of files."""
    try:
        return tuple(frame.select("_metadata").columns)
    except PySparkException:
        return ()


def _given(operator: Operator, found: StructType, of: str) -> Iterator[tuple[str, str]]:
    """id and ts as SQL, where the record has fields for them; of the type that they need."""
    logic = operator.logic
    for column, key, chosen in (("id", "id", logic.id), ("ts", "event_time", logic.event_time)):
        name = chosen or column
        if name not in found.names:
            if chosen is not None:
                raise SlotwiseError(
                    f"its {key} is '{chosen}', but its records have {', '.join(found.names)}"
                )
            continue
        sql, made = f"{of}{quoted(name)}", found[name].dataType
        if column == "ts" and made.simpleString() == "timestamp":
            yield column, f"unix_micros({sql})"
        elif _is_integral(made):
            yield column, f"CAST({sql} AS BIGINT)"
        else:
            wanted = "an integer" if column == "id" else "a TIMESTAMP, or µs since 1970 as BIGINT"
            raise SlotwiseError(
                f"its field '{name}' is {made.simpleString().upper()}, and the tuple's {key} is "
                f"{wanted}: name another field with {key}, and give this one another name"
            )


def _is_integral(found: DataType) -> bool:
    return found.simpleString() in ("tinyint", "smallint", "int", "bigint")
