"""Where a query's output goes, and how often it commits.

A query in real-time mode has one writer. Where sinks have formats of their own, it gets messages
(`_sink`, id, ts, key, value, and a row for each sink that takes such) and hands each to its sink
(jvm/…/sink/Outputs.java).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from slotwise.formats import (
    CLASS,
    CONSOLE,
    FOREACH,
    JSON,
    KAFKA,
    KEY,
    NUMBER_OF_ROWS,
    PARQUET,
    ROWS,
    calls_python,
    completed_options,
    dead_letters_of,
    is_link,
    options_of,
)
from slotwise.model import Operator, SlotwiseError, Topology
from slotwise.spark.query.aggregate import lateness_of
from slotwise.spark.query.names import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from slotwise.spark.query.compile import Query

VALUE = "value"
MESSAGE_COLUMNS = 5
"""Rows come after them, in the order of their sinks."""
AS_JSON = "map('ignoreNullFields', 'false')"


def has_formats(topology: Topology) -> bool:
    """Some sink, or a topic in between, says itself where its tuples go."""
    return any(o.kind != "source" and o.logic.format for o in topology.operators)


def writer(made: Query, checkpoint: Path, batch_seconds: float, output: Path | None) -> Any:
    """Spark's DataStreamWriter for the query, ready to be named and started.

    Real-time mode commits each `batch_seconds`; micro-batches follow one another. `output` is a
    folder for JSON lines, one file per batch and thread, of all sinks without a format; None: what
    comes to these is discarded.
    """
    operators = made.outline.layout.topology.operators
    closing = any(lateness_of(operator.logic) is not None for operator in operators)
    writer: Any = made.frame.writeStream.outputMode("append" if closing else "update")
    writer = writer.option("checkpointLocation", str(checkpoint / "spark"))
    topology = made.outline.layout.topology
    writer._jwrite.foreach(_sink(made.frame.sparkSession, topology, output))
    if made.outline.mode == "micro-batch":
        return writer.trigger(processingTime="0 seconds")
    return writer.trigger(realTime=f"{round(batch_seconds * 1000)} milliseconds")


def messages(frame: DataFrame, topology: Topology, outs: Mapping[int, str], due: str) -> DataFrame:
    """The last level's tuples as the sinks write them; `outs` has each operator's column, a struct
    that is NULL if there is no tuple, and `due` is the SQL of their time.
    """
    keys, values, names, rows = [], [], [], []
    for position, out in outs.items():
        operator = topology.operators[position]
        fields = frame.schema[out].dataType
        assert isinstance(fields, StructType)
        key, value = _message(operator, fields, out)
        if takes_rows(operator):
            rows.append(
                f"CASE WHEN _operator = {position} THEN {_row(fields, out)} END AS _{position}"
            )
        names.append(f"WHEN {position} THEN {literal(operator.name)}")
        keys.append(f"WHEN {position} THEN {key}")
        values.append(f"WHEN {position} THEN IF({out} IS NULL, NULL, {value})")
    return frame.selectExpr(
        f"CASE _operator {' '.join(names)} END AS _sink",
        "id",
        f"{due} AS ts",
        f"CAST(CASE _operator {' '.join(keys)} END AS BINARY) AS key",
        f"CASE _operator {' '.join(values)} END AS value",
        *rows,
    ).where("value IS NOT NULL")


def takes_rows(operator: Operator) -> bool:
    """What comes to the sink are tuples with their types."""
    return operator.kind == "sink" and operator.logic.format in ROWS


def _row(fields: StructType, out: str) -> str:
    own = ["'id', id", "'ts', ts"]
    own += [f"{literal(name)}, {out}.{quoted(name)}" for name in fields.names]
    return f"IF({out} IS NULL, NULL, named_struct({', '.join(own)}))"


def attempted(topology: Topology, position: int, made: Column) -> Column:
    """An operator's column, where a record on which it fails is left out and counted; with dead
    letters, it also goes there.
    """
    if topology.dead_letters is None:
        return functions.call_function("attempt", made)
    name = literal(topology.operators[position].name)
    letter = f"named_struct('operator', {name}, 'id', id, 'ts', ts, 'record', _in{position})"
    return functions.call_function("attempt", made, functions.expr(f"to_json({letter}, {AS_JSON})"))


def letters(topology: Topology) -> str:
    """Where dead letters go, as DeadLetters.java takes it; empty: nowhere."""
    if topology.dead_letters is None:
        return ""
    return json.dumps(_output(dead_letters_of(topology.dead_letters), None))


def _message(operator: Operator, fields: StructType, out: str) -> tuple[str, str]:
    """(key, value) as SQL of type BINARY.

    Kafka: fields `key` and `value`, of text or bytes and with no others, are the message; any other
    tuple is JSON. Files have the tuple's id and time as well; what the run writes, also its sink.
    """
    own = [f"{literal(name)}, {out}.{quoted(name)}" for name in fields.names]
    if takes_rows(operator):
        return "CAST(NULL AS BINARY)", "X''"
    if operator.logic.format == KAFKA:
        if _is_message(fields):
            key = f"{out}.`{KEY}`" if KEY in fields.names else "NULL"
            return _bytes(key), _bytes(f"{out}.`{VALUE}`")
        return _bytes(_key(operator, fields, out)), _json(own)
    own = ["'id', id", "'ts', ts", *own]
    if operator.logic.format is None:
        own = [f"'_sink', {literal(operator.name)}", "'_thread', _thread", *own]
    return "CAST(NULL AS BINARY)", _json(own)


def _is_message(fields: StructType) -> bool:
    types: dict[str, DataType] = {field.name: field.dataType for field in fields}
    return set(types) in ({VALUE}, {KEY, VALUE}) and all(
        isinstance(made, StringType | BinaryType) for made in types.values()
    )


def _key(operator: Operator, fields: StructType, out: str) -> str:
    chosen = options_of(operator).get(KEY)
    if chosen is None:
        return "NULL"
    if chosen not in fields.names:
        raise SlotwiseError(
            f"sink '{operator.name}': its key is '{chosen}', but its tuples have "
            f"{', '.join(fields.names)}"
        )
    return f"CAST({out}.{quoted(chosen)} AS STRING)"


def _json(fields: list[str]) -> str:
    return _bytes(f"to_json(named_struct({', '.join(fields)}), {AS_JSON})")


def _bytes(sql: str) -> str:
    return f"CAST({sql} AS BINARY)"


def _sink(spark: SparkSession, topology: Topology, output: Path | None) -> Any:
    assert spark.sparkContext._jvm is not None
    sinks = spark.sparkContext._jvm.org.slotwise.sink
    if has_formats(topology):
        return sinks.Outputs.parse(json.dumps(_outputs(topology, output)))
    if output is None:
        return sinks.Discard()
    return sinks.JsonFiles(_folder(output))


def _outputs(topology: Topology, output: Path | None) -> dict[str, Any]:
    """By the names of sinks; those that write nothing are left out."""
    found = {
        operator.name: _output(operator, output)
        for operator, streams in zip(topology.operators, topology.outputs, strict=True)
        if not streams or is_link(operator)
    }
    made = {name: output for name, output in found.items() if output is not None}
    with_rows = (operator.name for operator in topology.operators if takes_rows(operator))
    for column, name in enumerate(with_rows, MESSAGE_COLUMNS):
        if name in made:
            made[name]["column"] = column
    return made


def folders(topology: Topology, output: Path | None) -> list[Path]:
    """Those that the topology's sinks and dead letters write files to."""
    found = {Path(completed_options(o)["path"]) for o in topology.operators if _writes_files(o)}
    if output is not None and has_formats(topology):
        ends = (
            o
            for o, streams in zip(topology.operators, topology.outputs, strict=True)
            if not streams
        )
        found |= {output / o.name for o in ends if o.logic.format is None}
    elif output is not None:
        found.add(output)
    letters = topology.dead_letters
    if letters is not None and letters.format == JSON:
        path = Path(completed_options(dead_letters_of(letters))["path"])
        found |= {path / o.name for o in topology.operators if o.logic.on_error == "skip"}
    return sorted(found)


def _writes_files(operator: Operator) -> bool:
    return operator.kind == "sink" and operator.logic.format in (JSON, PARQUET)


def _output(operator: Operator, output: Path | None) -> dict[str, Any] | None:
    """As `Outputs.Sink` in jvm/…/sink/Outputs.java."""
    options, kind = completed_options(operator), operator.logic.format
    if kind == KAFKA:
        given = {n.removeprefix("kafka."): v for n, v in options.items() if n.startswith("kafka.")}
        return {"format": kind, "target": options["topic"], "options": given}
    if kind == CONSOLE:
        shown = {NUMBER_OF_ROWS: options.get(NUMBER_OF_ROWS, "20")}
        return {"format": kind, "target": operator.name, "options": shown}
    if calls_python(operator) or (kind is None and output is None):
        return None
    if kind == FOREACH:
        return {"format": kind, "target": options[CLASS], "options": {}}
    path = Path(options["path"]) if kind is not None else (output or Path()) / operator.name
    return {"format": kind or JSON, "target": _folder(path), "options": {}}


def _folder(path: Path) -> str:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SlotwiseError(f"cannot write to {path}: {error.strerror}") from None
    return str(path.resolve())
