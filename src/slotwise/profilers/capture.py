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
from typing import Any, NamedTuple

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

ENOUGH = 400
"""Records of each operator's input; paced sources stop after as many."""
RATE = 400.0
"""Tuples/s of paced sources: what varies in their arrivals does so at any rate."""
THREADS = 8
"""Of each operator, so that those which wait do not hold up what comes after them."""
LONGEST_S = 90.0
BATCH_S = 3.0
"""What a batch has written can be read when it ends."""
QUIET_BATCHES = 3
"""In so many batches without a record the sources have ended: one or two may be a lull."""
TWIN, MESSAGES = "slotwise-input-of-", "slotwise-messages-of-"
"""In the names of twins, and of sources of messages as they are."""
OUR_COLUMNS = ("_sink", "_thread", "id", "ts")
FEWEST_GAPS = 50
"""Between records, for a variation of their arrivals."""


class Row(NamedTuple):
    """A record as a twin has written it."""

    fields: dict[str, Any]
    line: str
    """Kept as it is: decimals read by Python would lose digits."""


def cases(
    bench: Bench,
    pipeline: Pipeline,
    operators: Sequence[str],
    bound: Mapping[str, Callable[..., Any]] | None = None,
) -> dict[str, Case | SlotwiseError]:
    """The experiments of these operators, on input that is captured now; in place of one, why its
    operator has no input.
    """
    topology, bound = pipeline.topology, bound or {}
    chosen = [topology.operators[topology.index[name]] for name in operators]
    wanted = [operator.name for operator in chosen if not _makes_records(operator)]
    inputs = _inputs(bench, pipeline, wanted, bound)
    return {
        operator.name: found
        if isinstance(found := inputs.get(operator.name), SlotwiseError)
        else Case(
            reading(operator) if _reads_topic(operator) else operator,
            found,
            _grouping(topology, operator),
            bool(topology.outputs[topology.index[operator.name]]),
            bound.get(operator.name),
            pipeline.engine,
        )
        for operator in chosen
    }


def _inputs(
    bench: Bench,
    pipeline: Pipeline,
    operators: Sequence[str],
    bound: Mapping[str, Callable[..., Any]],
) -> Mapping[str, Captured | SlotwiseError]:
    """By one run for all; where that fails, by one for each: an operator that fails on its records
    has nothing to do with the input of those that are not after it.
    """
    if not operators:
        return {}
    try:
        return captured(bench, pipeline, operators, bound)
    except SlotwiseError as error:
        if len(operators) == 1:
            return {operators[0]: error}
    return {name: _inputs(bench, pipeline, [name], bound)[name] for name in operators}


def captured(
    bench: Bench,
    pipeline: Pipeline,
    operators: Sequence[str],
    bound: Mapping[str, Callable[..., Any]],
) -> Mapping[str, Captured | SlotwiseError]:
    """Per operator, what arrives at it, or that nothing does. Raises SlotwiseError if the run
    fails.
    """
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
        name: _kept(bench, rows[TWIN + name], written, folder / f"{number}.jsonl")
        if rows[TWIN + name]
        else SlotwiseError(f"no record reached it in {LONGEST_S:g} s, or before its sources ended")
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
    """Per twin, what has been written, as soon as that is enough or several batches in a row have
    added nothing; or in the longest time, however little that is.
    """
    rows: dict[str, list[Row]] = {TWIN + name: [] for name in operators}
    read: set[Path] = set()
    batch, before, quiet, since_s = 0, 0, 0, run.clock.now_s()

    def complete() -> bool:
        nonlocal batch, before, quiet, since_s
        run.tick()
        if not run.query.isActive:
            raise SlotwiseError(f"the run that captures input failed: {run.failure}")
        if run.batch == batch and not _waits(run, since_s):
            return False
        batch, since_s = run.batch, run.clock.now_s()
        new = set(output.glob("batch-*.json")) - read
        read.update(new)
        for row in _written(new):
            rows.get(row.fields["_sink"], []).append(row)
        count = sum(map(len, rows.values()))
        quiet, before = quiet + 1 if count == before > 0 else 0, count
        return quiet == QUIET_BATCHES or all(len(found) >= ENOUGH for found in rows.values())

    await_condition(complete, LONGEST_S, run.clock)
    return rows


def _waits(run: Run, since_s: float) -> bool:
    """For as long as a batch: without something to read, Spark begins no micro-batch."""
    is_idle = run.outline.mode == "micro-batch" and run.awaits_data
    return is_idle and run.clock.now_s() - since_s >= BATCH_S


def _written(files: set[Path]) -> Iterator[Row]:
    for file in sorted(files):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield Row(json.loads(line), line)


def _kept(bench: Bench, rows: list[Row], written: StructType, file: Path) -> Captured:
    """The records of one operator's twin, in a file of their own."""
    own = StructType([field for field in written if field.name not in OUR_COLUMNS])
    column = _record_column(own, rows[0])
    if column is not None:
        own = StructType([own[column]])
    rows = sorted(rows, key=lambda row: (row.fields["ts"], row.fields["id"]))
    file.write_text("".join(f"{row.line}\n" for row in rows), encoding="utf-8")
    scv = arrival_scv([row.fields["ts"] for row in rows])
    return Captured(file, _ddl(bench, own), len(rows), scv, column)


def _record_column(own: StructType, row: Row) -> str | None:
    """Where sinks get records of several types, each type is a column; None: fields are columns."""
    is_type = [re.fullmatch("record[0-9]+", name) is not None for name in own.names]
    if len(is_type) < 2 or not all(is_type):
        return None
    return next(name for name in own.names if row.fields.get(name) is not None)


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
