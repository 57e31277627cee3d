"""A plan becomes one Spark query: levels of operators with a shuffle between two levels.

Between levels every tuple is a row with these columns:

- `_operator`, `_thread`: whom it is for, and which of that operator's tasks (see `levels`);
- `id`, `ts`: of the source tuple that caused it; ts is when that one was due, in µs;
- `_record0`, `_record1`, …: one struct for each type of tuple there is; all but one are NULL.

In a level, each operator's logic is put under `CASE WHEN _operator = …`, so one stage holds all
operators of the level. An output tuple is exploded into a row for each stream it is sent on, with
`hop`, the partition of the next level it goes to (`routing`); tuples for later levels hop on.

An expression's result is the output tuple: a struct as it is, anything else as the field `value`.
A NULL is no tuple: so an expression filters. Time: Spark analyses the query once per operator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import Column, functions
from pyspark.sql.types import StructType

from slotwise.formats import KAFKA, is_read
from slotwise.model import Profiles, Schedule, SlotwiseError, counted
from slotwise.spark.query.aggregate import aggregated
from slotwise.spark.query.distinct import with_distinct
from slotwise.spark.query.expressions import (
    check_keys,
    field,
    fields_of,
    first_sentence,
    key_column,
    view,
    with_columns,
)
from slotwise.spark.query.logic import check_array, with_kept, with_output
from slotwise.spark.query.names import literal
from slotwise.spark.query.native import check_writer
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.records import Records, as_record, record_type
from slotwise.spark.query.routing import POSITION, Routes
from slotwise.spark.query.sinks import has_formats, messages
from slotwise.spark.query.sources import opened, read
from slotwise.spark.query.synthetic import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOBODY = "array(-1)"
"""The target of a tuple that leaves the query."""


@dataclass(frozen=True)
class Query:
    """An outline as a DataFrame that is not yet started. It may be started several times."""

    outline: Outline
    frame: DataFrame
    """What is written: _sink, _thread, id, ts, and the fields of the tuples."""
    sql: tuple[tuple[str, ...], ...]
    """Per level, the columns that are computed there."""


def compile(
    spark: SparkSession,
    of: Outline,
    *,
    rate: float | None = None,
    schedule: Schedule | None = None,
    work: Work = "wait",
    profiles: Profiles | None = None,
    meters: bool = True,
) -> Query:
    """The query. `rate` and `schedule` are in place of the plan's; `work` is for operators that
    have no logic, by `profiles`, which are the plan's unless given.

    Raises SlotwiseError, naming the operator, for what Spark refuses.
    """
    building = _Building(of, work, profiles, meters)
    nominal = of.plan.rate if rate is None else rate
    frame = read(spark, of, nominal, building.records, schedule)
    for level in range(len(of.layout.levels)):
        building.sql.append([])
        frame = building.computed(level, frame)
        last = of.layout.is_last(level)
        frame = building.written(frame) if last else building.sent(level, frame)
    return Query(of, frame, tuple(map(tuple, building.sql)))


@dataclass
class _Building:
    outline: Outline
    work: Work
    profiles: Profiles | None
    meters: bool
    records: Records = dataclasses.field(default_factory=Records)
    sql: list[list[str]] = dataclasses.field(default_factory=list)
    flat_levels: set[int] = dataclasses.field(default_factory=set)

    def __post_init__(self) -> None:
        self.layout = self.outline.layout
        self.topology = self.layout.topology
        self.routes = Routes(self.outline.plan, self.layout)

    # -- what the operators of a level do ---------------------------------------------------

    def computed(self, level: int, frame: DataFrame) -> DataFrame:
        """Adds `_out{i}`, a struct or NULL, for every operator i of the level."""
        flat = []
        for operator in self.layout.levels[level]:
            with self._named(operator):
                if operator in self.layout.keyed:
                    frame = self._with_answer(operator, frame)
                else:
                    frame = self._with_input(operator, frame)
                    frame = opened(self.topology, operator, frame)
                    frame = self._with_output(operator, frame)
                if self.topology.operators[operator].logic.makes_several:
                    check_array(frame, operator)
                    flat.append(operator)
        if flat:
            self.flat_levels.add(level)
            frame = self._exploded(level, flat, frame)
        for operator in self.layout.levels[level]:
            with self._named(operator):
                frame = self._as_record(operator, frame)
        return frame

    def _with_answer(self, operator: int, frame: DataFrame) -> DataFrame:
        """An aggregate works inside Spark: its tuples are seen only when it has answered them."""
        out = f"_out{operator}"
        if self.meters:
            answered = f"CASE WHEN _operator = {operator} THEN meter_in({out}, ts) END"
            frame = self._add(frame, out, answered)
        frame, text = with_kept(frame, operator, self.outline)
        self.sql[-1] += [text] if text else []
        return frame

    def _with_input(self, operator: int, frame: DataFrame) -> DataFrame:
        record = self.records.into(self.topology, operator)
        # Python workers take many tuples at a time, and meter themselves.
        metered = self.meters and not self._is_on_batches(operator)
        # At level 0 the id of a record of Kafka's is still its position in the topic.
        is_topic = self.topology.operators[operator].logic.format == KAFKA
        is_topic &= is_read(self.topology.operators[operator])
        taken = f"meter_in({record}, ts{', id' if is_topic else ''})" if metered else record
        return self._add(
            frame, f"_in{operator}", f"CASE WHEN _operator = {operator} THEN {taken} END"
        )

    def _with_output(self, operator: int, frame: DataFrame) -> DataFrame:
        frame, text = with_output(frame, operator, self.outline, self.work, self.profiles)
        self.sql[-1].append(text)
        if not self._is_on_batches(operator):
            return frame
        from slotwise.spark.query.micro_batch import TOOK

        if self.meters:
            took = ", ".join(f"{TOOK}.{name}" for name in ("records", "nanos", "age_us"))
            counted = f"meter_batch(_out{operator}, {took})"
            counted = f"CASE WHEN _operator = {operator} THEN {counted} END"
            frame = self._add(frame, f"_out{operator}", counted)
        return frame.drop(TOOK)

    def _is_on_batches(self, operator: int) -> bool:
        function = self.outline.functions.get(operator)
        return function is not None and function.on_batches

    def _exploded(self, level: int, flat: list[int], frame: DataFrame) -> DataFrame:
        """A row per element of the flat operators' arrays; `_position` says which."""
        if self.meters:
            # The clock of the operator stops here: its elements are only counted.
            for operator in flat:
                stopped = (
                    f"CASE WHEN _operator = {operator} THEN meter_out(_out{operator}, NULL) END"
                )
                frame = self._add(frame, f"_out{operator}", stopped)
        cases = " ".join(
            f"WHEN {i} THEN IF(size(_out{i}) > 0, sequence(1, size(_out{i})), NULL)" for i in flat
        )
        frame = frame.select(
            "*",
            functions.expr(f"explode(CASE _operator {cases} ELSE array(1) END)").alias(POSITION),
        )
        for operator in flat:
            frame = frame.withColumn(
                f"_out{operator}", functions.expr(f"element_at(_out{operator}, {POSITION})")
            )
        self.sql[-1].append(
            f"{POSITION} = explode(1 … size({', '.join(f'_out{i}' for i in flat)}))"
        )
        return frame

    def _as_record(self, operator: int, frame: DataFrame) -> DataFrame:
        out = f"_out{operator}"
        found = frame.schema[out].dataType
        self.records.add(operator, record_type(found))
        if not isinstance(found, StructType):
            frame = frame.withColumn(out, functions.expr(as_record(out)))
        return self._with_keys(operator, frame)

    def _with_keys(self, operator: int, frame: DataFrame) -> DataFrame:
        """Adds what the groupings of the operator's streams need to know of its tuples."""
        keyed = {stream: self.routes.keys(stream) for stream in self.topology.outputs[operator]}
        if not any(keyed.values()):
            return frame
        out, columns = f"_out{operator}", dict[str, Column]()
        seen = view(frame, out)
        for stream, keys in keyed.items():
            check_keys(seen, keys.values(), f"stream {self.topology.streams[stream]} is grouped by")
            columns |= {name: key_column(key, seen.columns) for name, key in keys.items()}
            self.sql[-1] += [f"{name} = {key}" for name, key in keys.items()]
        return with_columns(frame, out, columns)

    # -- from one level to the next ---------------------------------------------------------

    def sent(self, level: int, frame: DataFrame) -> DataFrame:
        """Every tuple in the partition of the next level where it goes."""
        frame = self._add(frame, "_routes", self._routes(level))
        frame = self._metered(level, frame, "_routes")
        records = [f"{self._carried(level, name)} AS {name}" for name in self._needed(level)]
        frame = frame.selectExpr(
            "id", "ts", *records, "inline(_routes) AS (_operator, _thread, _hop)"
        )
        partitions = self.layout.partitions[level + 1]
        keyed = self.layout.keyed_at(level + 1)
        if keyed is not None:
            with self._named(keyed):
                record = self.records.into(self.topology, keyed)
                if partitions == 1:
                    # Spark would leave out the shuffle where one partition follows another, and
                    # the level would be none.
                    frame = frame.repartitionById(1, functions.col("_hop"))
                made, text = self._keyed(keyed, frame, record)
            self.sql[-1].append(text)
            return made
        self.sql[-1].append(f"→ {counted(partitions, 'partition')} by hop")
        return frame.repartitionById(partitions, functions.col("_hop")).drop("_hop")

    def _keyed(self, operator: int, frame: DataFrame, record: str) -> tuple[DataFrame, str]:
        if self.topology.operators[operator].logic.stateful:
            from slotwise.spark.query.stateful import with_state

            function = self.outline.functions[operator]
            return with_state(frame, self.routes, operator, record, function)
        if self.topology.operators[operator].logic.distinct:
            at_once = self.outline.mode == "real-time"
            return with_distinct(frame, self.routes, operator, record, at_once=at_once)
        return aggregated(frame, self.routes, operator, record)

    def _routes(self, level: int) -> str:
        cases = []
        for operator in self.layout.levels[level]:
            found = list(self.routes.candidates(operator, level in self.flat_levels))
            routes = f"array({', '.join(found)})"
            if any(route.startswith("IF(") for route in found):
                routes = f"array_compact({routes})"
            cases.append(f"WHEN {operator} THEN IF(_out{operator} IS NULL, NULL, {routes})")
        passing = self.layout.passing(level)
        onward = f" ELSE array({self.routes.onward(level)})" if passing else ""
        return f"CASE _operator {' '.join(cases)}{onward} END"

    def _metered(self, level: int, frame: DataFrame, targets: str) -> DataFrame:
        if not self.meters:
            return frame
        if targets != NOBODY:
            first = ", ".join(map(str, self.layout.first_task[:-1]))
            targets = f"{targets}, array({first})"
        for operator in self.layout.levels[level]:
            out, logic = f"_out{operator}", self.topology.operators[operator].logic
            is_done = logic.makes_several or self._is_on_batches(operator)
            meter = "meter_sent" if is_done else "meter_out"
            counted = f"{meter}({out}, {targets})"
            frame = self._add(frame, out, f"CASE WHEN _operator = {operator} THEN {counted} END")
        return frame

    def _needed(self, level: int) -> list[str]:
        """The record columns that somebody after `level` reads."""
        senders = {
            source
            for source, target in self.topology.edges
            if self.layout.level[source] <= level
            and (level < self.layout.level[target] or target in self.layout.links)
        }
        return sorted({self.records.of(i) for i in senders | self.layout.delivered(level + 1)})

    def _carried(self, level: int, record: str) -> str:
        makers = [i for i in self.layout.levels[level] if self.records.of(i) == record]
        passes = any(
            self.records.of(i) == record and self.layout.level[i] < level
            for i in range(len(self.layout.level))
            if i in self.records.by_operator
        ) and bool(self.layout.passing(level))
        cases = " ".join(f"WHEN {i} THEN _out{i}" for i in makers)
        if not makers:
            return record
        return f"CASE _operator {cases}{f' ELSE {record}' if passes else ''} END"

    # -- the end ----------------------------------------------------------------------------

    def written(self, frame: DataFrame) -> DataFrame:
        """The columns that are written: _sink (its name), _thread, id, ts, and the tuples' fields.

        Where operators of the last level make different types of tuples, each type is a column.
        """
        level = len(self.layout.levels) - 1
        frame = self._metered(level, frame, NOBODY)
        ends = [*self.layout.levels[level], *sorted(self.layout.delivered(level))]
        outs = {
            i: f"_out{i}" if i in self.layout.levels[level] else self.records.of(i) for i in ends
        }
        outs |= {i: self._to_link(i) for i in sorted(self.layout.links)}
        for operator in ends:
            with self._named(operator):
                check_writer(frame.sparkSession, self.topology.operators[operator])
        if has_formats(self.topology):
            return messages(frame, self.topology, outs, self._due())
        names = " ".join(f"WHEN {i} THEN {literal(self.topology.operators[i].name)}" for i in ends)
        due = "meter_latency(ts) AS ts" if self.meters else "ts"
        columns = [f"CASE _operator {names} END AS _sink", "_thread", "id", due]
        types = {
            self.records.of(i): [j for j in ends if self.records.of(j) == self.records.of(i)]
            for i in ends
        }
        for record, members in types.items():
            cases = " ".join(f"WHEN {i} THEN {outs[i]}" for i in members)
            columns.append(f"CASE _operator {cases} END AS {record}")
        frame = frame.selectExpr(*columns).where(
            " OR ".join(f"{record} IS NOT NULL" for record in types)
        )
        if len(types) > 1:
            return frame.withColumnsRenamed({name: name.lstrip("_") for name in types})
        (record,) = types
        fields = [field(record, name).alias(name) for name in fields_of(frame, record)]
        return frame.select("_sink", "_thread", "id", "ts", *fields)

    def _to_link(self, link: int) -> str:
        """The column with what comes to a link, which is as its schema says."""
        with self._named(link):
            record = self.records.sent_to(self.topology, link)
            if record != self.records.of(link):
                sent = self.records.by_operator[
                    self.topology.edges[self.topology.inputs[link][0]][0]
                ]
                raise SlotwiseError(
                    f"it receives {sent.simpleString()}, and its schema is "
                    f"{self.records.by_operator[link].simpleString()}: both must be the same"
                )
        return record

    def _due(self) -> str:
        """The time when a tuple was due; its latency counts where it leaves the query for good."""
        if not self.meters:
            return "ts"
        links = ", ".join(map(str, sorted(self.layout.links)))
        return (
            f"IF(_operator IN ({links}), ts, meter_latency(ts))" if links else "meter_latency(ts)"
        )

    # -- ------------------------------------------------------------------------------------

    def _add(self, frame: DataFrame, name: str, sql: str) -> DataFrame:
        self.sql[-1].append(f"{name} = {sql}")
        return frame.withColumn(name, functions.expr(sql))

    @contextmanager
    def _named(self, operator: int) -> Iterator[None]:
        """Errors inside get the operator's name."""
        name = self.topology.operators[operator].name
        try:
            yield
        except PySparkException as error:
            raise SlotwiseError(f"operator '{name}': {first_sentence(error)}") from None
        except SlotwiseError as error:
            raise SlotwiseError(f"operator '{name}': {error}") from None
