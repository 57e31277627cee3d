"""Records as they arrive at operators: the pipeline itself runs once, and its inputs are kept.

Every operator that is to be measured gets a twin beside it, a sink that is sent the same tuples.
The pipeline runs on its sources' own data, outside the quota, until every twin has enough. It
writes nothing else: what its tuples would be sent to is left out, and a topic in between is only
read. Of an operator that reads a topic, the messages are kept as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql.types import StructType

from slotwise.clock import await_condition
from slotwise.formats import KAFKA, is_link, is_read, options_of, topic_of
from slotwise.model import Grouping, Logic, Operator, Pipeline, SlotwiseError, Stream, Topology
from slotwise.paced import pace_of
from slotwise.profilers.bench import Bench
from slotwise.profilers.case import Captured, Case, reading
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Run

Row = dict[str, Any]

ENOUGH = 400
"""Records of each operator's input; paced sources stop after as many."""
RATE = 400.0
"""Tuples/s of paced sources: what varies in their arrivals does so at any rate."""
THREADS = 8
"""Of each operator, so that those which wait do not hold up what comes after them."""
LONGEST_S = 90.0
BATCH_S = 3.0
"""What a batch has written can be read when it ends."""
TWIN, MESSAGES = "slotwise-input-of-", "slotwise-messages-of-"
"""In the names of twins, and of sources of messages as they are."""
OUR_COLUMNS = ("_sink", "_thread", "id", "ts")
FEWEST_GAPS = 50
"""Between records, for a variation of their arrivals."""


def cases(
    bench: Bench,
    pipeline: Pipeline,
    operators: Sequence[str],
    bound: Mapping[str, Callable[..., Any]] | None = None,
) -> list[Case]:
    """The experiments of these operators, on input that is captured now.

    Raises SlotwiseError for an operator that no record reaches.
    """
    topology, bound = pipeline.topology, bound or {}
    chosen = [topology.operators[topology.index[name]] for name in operators]
    wanted = [operator.name for operator in chosen if not _makes_records(operator)]
    inputs = captured(bench, pipeline, wanted, bound) if wanted else {}
    return [
        Case(
            reading(operator) if _reads_topic(operator) else operator,
            inputs.get(operator.name),
            _grouping(topology, operator),
            bool(topology.outputs[topology.index[operator.name]]),
            bound.get(operator.name),
            pipeline.engine,
        )
        for operator in chosen
    ]


def captured(
    bench: Bench,
    pipeline: Pipeline,
    operators: Sequence[str],
    bound: Mapping[str, Callable[..., Any]],
) -> dict[str, Captured]:
    """Per operator, what arrives at it."""
    topology = _with_twins(pipeline.topology, operators)
    of = outline(
        bench.plan_outside(topology, pipeline.engine, RATE, THREADS),
        {name: call for name, call in bound.items() if name in topology.index},
    )
    folder = bench.new_folder("input")
    options = bench.options(batch_seconds=BATCH_S, work="none", output=folder / "out")
    with bench.query(of, options) as run:
        rows, written = _rows(run, operators, folder / "out"), run.compiled.frame.schema
    return {
        name: _kept(bench, name, rows[TWIN + name], written, folder / f"{number}.jsonl")
        for number, name in enumerate(operators)
    }


def _with_twins(topology: Topology, operators: Sequence[str]) -> Topology:
    """Only what is upstream of the operators, each with a twin in its place and, where something
    that is kept comes after it, beside it.
    """
    chosen = [topology.operators[topology.index[name]] for name in operators]
    readers = [_messages(operator) for operator in chosen if _reads_topic(operator)]
    fed = [operator.name for operator in chosen if not _reads_topic(operator)]
    kept = _upstream(topology, fed)
    twins = tuple(Operator(TWIN + name, "sink") for name in operators)
    streams = tuple(
        replace(stream, loop=stream.loop and not _is_link(topology, stream.source))
        for stream in topology.streams
        if stream.source in kept and stream.target in kept and not _is_link(topology, stream.target)
    )
    beside = tuple(
        Stream(stream.source, TWIN + stream.target, stream.selectivity, Grouping("shuffle"))
        for stream in topology.streams
        if stream.target in fed and (not stream.loop or _is_link(topology, stream.source))
    )
    as_they_are = tuple(
        Stream(reader.name, TWIN + reader.name.removeprefix(MESSAGES), 1.0, Grouping("shuffle"))
        for reader in readers
    )
    return Topology(
        topology.name,
        (*(_ending(o) for o in topology.operators if o.name in kept), *readers, *twins),
        streams + beside + as_they_are,
    )


def _is_link(topology: Topology, name: str) -> bool:
    return is_link(topology.operators[topology.index[name]])


def _makes_records(operator: Operator) -> bool:
    return operator.kind == "source" and pace_of(operator) is not None


def _reads_topic(operator: Operator) -> bool:
    return is_read(operator) and operator.logic.format == KAFKA


def _messages(operator: Operator) -> Operator:
    """A source of the messages of an operator's topic, not parsed."""
    reader, logic = _from_topic(operator), operator.logic
    as_they_are = Logic(format=KAFKA, options=reader.logic.options, partitions=logic.partitions)
    return replace(reader, name=MESSAGES + operator.name, logic=as_they_are)


def _from_topic(operator: Operator) -> Operator:
    """A source of what the topic has, also of one that tuples go through: nothing is written."""
    kept = {name: v for name, v in options_of(operator).items() if name not in ("topic", "key")}
    options = {**kept, "subscribe": topic_of(operator), "startingOffsets": "earliest"}
    logic = replace(operator.logic, options=tuple(options.items()))
    return replace(operator, kind="source", share=1.0, logic=logic)


def _ending(operator: Operator) -> Operator:
    """A source of what is there already. A paced one has no more records than are needed: a batch
    ends when it has worked off all that the source has taken in, however slow the operators are.
    """
    if _reads_topic(operator):
        return _from_topic(operator)
    if not _makes_records(operator):
        return operator
    others = [option for option in operator.logic.options if option[0] not in ("records", "delay")]
    options = (*others, ("records", str(ENOUGH)))
    return replace(operator, share=1.0, logic=replace(operator.logic, options=options))


def _upstream(topology: Topology, operators: Sequence[str]) -> set[str]:
    """Operators that feed one of these, directly or not. What feeds a topic in between does not
    count: the topic has it.
    """
    found: set[str] = set()
    waiting = list(operators)
    while waiting:
        name = waiting.pop()
        for stream in topology.streams:
            if stream.target == name and stream.source not in found:
                found.add(stream.source)
                if not _is_link(topology, stream.source):
                    waiting.append(stream.source)
    return found


def _rows(run: Run, operators: Sequence[str], output: Path) -> dict[str, list[Row]]:
    """Per twin, what has been written, as soon as that is enough or a batch has added nothing."""
    rows: dict[str, list[Row]] = {TWIN + name: [] for name in operators}
    read: set[Path] = set()
    batch, before = 0, 0

    def complete() -> bool:
        nonlocal batch, before
        run.tick()
        if not run.query.isActive:
            raise SlotwiseError(f"the run that captures input failed: {run.failure}")
        if run.batch == batch:
            return False
        batch = run.batch
        new = set(output.glob("batch-*.json")) - read
        read.update(new)
        for row in _written(new):
            rows.get(row["_sink"], []).append(row)
        count = sum(map(len, rows.values()))
        has_ended, before = count == before > 0, count
        return has_ended or all(len(found) >= ENOUGH for found in rows.values())

    await_condition(complete, LONGEST_S, run.clock)
    return rows


def _written(files: set[Path]) -> Iterator[Row]:
    for file in sorted(files):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _kept(bench: Bench, name: str, rows: list[Row], written: StructType, file: Path) -> Captured:
    """The records of one operator's twin, in a file of their own."""
    if not rows:
        raise SlotwiseError(
            f"no record reached operator '{name}' in {LONGEST_S:g} s: check its sources' data"
        )
    own = StructType([field for field in written if field.name not in OUR_COLUMNS])
    column = _record_column(own, rows[0])
    if column is not None:
        found = own[column].dataType
        assert isinstance(found, StructType)
        own = found
    rows = sorted(rows, key=lambda row: (row["ts"], row["id"]))
    with file.open("w", encoding="utf-8") as lines:
        for row in rows:
            record = row if column is None else row[column]
            lines.write(json.dumps({field: record.get(field) for field in own.names}) + "\n")
    return Captured(file, _ddl(bench, own), len(rows), arrival_scv([row["ts"] for row in rows]))


def _record_column(own: StructType, row: Row) -> str | None:
    """Where sinks get records of several types, each type is a column; None: fields are columns."""
    is_type = [re.fullmatch("record[0-9]+", name) is not None for name in own.names]
    if len(is_type) < 2 or not all(is_type):
        return None
    return next(name for name in own.names if row.get(name) is not None)


def _ddl(bench: Bench, made: StructType) -> str:
    parsed = bench.spark._jsparkSession.parseDataType(made.json())
    return str(parsed.toDDL())


def arrival_scv(due_us: Sequence[int]) -> float | None:
    """Squared coefficient of variation of the times between arrivals; None for too few.

    >>> arrival_scv(range(0, 1000, 10))
    0.0
    """
    gaps = np.diff(np.sort(np.asarray(due_us, dtype=np.float64)))
    if len(gaps) < FEWEST_GAPS or gaps.mean() == 0:
        return None
    return float((gaps.std() / gaps.mean()) ** 2)


def _grouping(topology: Topology, operator: Operator) -> Grouping:
    """By its keys where one of its inputs is: a key's tuples must meet in one thread. What comes
    from a topic has no keys yet.
    """
    if is_read(operator):
        return Grouping("shuffle")
    inputs = topology.inputs[topology.index[operator.name]]
    groupings = [topology.streams[stream].grouping for stream in inputs]
    return next((g for g in groupings if g.kind == "fields"), Grouping("shuffle"))
