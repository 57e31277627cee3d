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

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import Column, functions
from pyspark.sql.types import ArrayType, DataType, StructType

from slotwise.model import Profiles, Schedule, SlotwiseError, counted
from slotwise.spark.query.aggregate import HAVING, aggregated
from slotwise.spark.query.functions import Function
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.records import Records, as_record, record_type
from slotwise.spark.query.routing import POSITION, Routes
from slotwise.spark.query.sources import read
from slotwise.spark.query.synthetic import Work, service_us, work_sql

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
    frame = read(spark, of.layout, nominal, building.records, schedule)
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
    records: Records = field(default_factory=Records)
    sql: list[list[str]] = field(default_factory=list)
    flat_levels: set[int] = field(default_factory=set)

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
                if operator == self.layout.aggregate:
                    frame = self._with_answer(operator, frame)
                else:
                    frame = self._with_input(operator, frame)
                    frame = self._with_output(operator, frame)
                if self.topology.operators[operator].logic.flat:
                    self._check_array(operator, frame)
                    flat.append(operator)
        if flat:
            self.flat_levels.add(level)
            frame = self._exploded(level, flat, frame)
        for operator in self.layout.levels[level]:
            frame = self._as_record(operator, frame)
        return frame

    def _with_answer(self, operator: int, frame: DataFrame) -> DataFrame:
        """An aggregate works inside Spark: its tuples are seen only when it has answered them."""
        out = f"_out{operator}"
        if self.meters:
            answered = f"CASE WHEN _operator = {operator} THEN meter_in({out}, ts) END"
            frame = self._add(frame, out, answered)
        having = dict(self.topology.operators[operator].logic.aggregate).get(HAVING)
        if having is None:
            return frame
        fields = _fields(frame, out)
        bound = frame.withColumns({name: functions.col(f"{out}.`{name}`") for name in fields})
        return self._add(bound, out, f"IF({having}, {out}, NULL)").drop(*fields)

    def _with_input(self, operator: int, frame: DataFrame) -> DataFrame:
        record = self.records.into(self.topology, operator)
        # Python workers take many tuples at a time, and meter themselves.
        metered = self.meters and not self._is_on_batches(operator)
        taken = f"meter_in({record}, ts)" if metered else record
        return self._add(
            frame, f"_in{operator}", f"CASE WHEN _operator = {operator} THEN {taken} END"
        )

    def _with_output(self, operator: int, frame: DataFrame) -> DataFrame:
        logic, own = self.topology.operators[operator].logic, f"_in{operator}"
        out = f"_out{operator}"
        function = self.outline.functions.get(operator)
        if function is None and logic.expr is None:
            times = service_us(self.outline.plan, operator, self.work, self.profiles)
            return self._add(frame, out, work_sql(times, own))
        if function is not None and function.on_batches:
            return self._with_batches(operator, function, frame)
        fields = _fields(frame, own)
        bound = frame.withColumns({name: functions.col(f"{own}.`{name}`") for name in fields})
        if function is not None:
            made = self._called(function, [*fields, "id", "ts"])
            self.sql[-1].append(f"{out} = {function.name}({', '.join(function.parameters)})")
        else:
            assert logic.expr is not None
            sql = f"attempt({logic.expr})" if logic.on_error == "skip" else logic.expr
            made = functions.expr(sql)
            self.sql[-1].append(f"{out} = {sql}")
        # NULL for other operators' tuples. A condition on the input also keeps its meter in the
        # query when the logic does not look at it.
        made = functions.when(functions.col(own).isNotNull(), made)
        computed = bound.withColumn(out, made)
        if self.outline.mode == "real-time" and _calls_python(computed):
            raise SlotwiseError(
                "it calls Python code, which real-time mode cannot run: "
                "use Spark's own functions, or set engine: micro-batch"
            )
        return computed.drop(*fields)

    def _is_on_batches(self, operator: int) -> bool:
        function = self.outline.functions.get(operator)
        return function is not None and function.on_batches

    def _with_batches(self, operator: int, function: Function, frame: DataFrame) -> DataFrame:
        from slotwise.spark.query.micro_batch import TOOK, with_batches

        out = f"_out{operator}"
        self.sql[-1].append(f"{out} = {function.name}(batch)")
        frame = with_batches(frame, operator, function)
        if self.meters:
            took = ", ".join(f"{TOOK}.{name}" for name in ("records", "nanos", "age_us"))
            counted = f"CASE WHEN _operator = {operator} THEN meter_batch({out}, {took}) END"
            frame = self._add(frame, out, counted)
        return frame.drop(TOOK)

    def _called(self, function: Function, known: list[str]) -> Column:
        for parameter in function.parameters:
            if parameter not in known:
                raise SlotwiseError(
                    f"{function.name} has a parameter '{parameter}', but its tuples have "
                    f"{', '.join(known)}"
                )
        made = function.call(*(functions.col(parameter) for parameter in function.parameters))
        if not isinstance(made, Column):
            raise SlotwiseError(f"{function.name} returned {type(made).__name__}, not Column")
        return made

    def _check_array(self, operator: int, frame: DataFrame) -> None:
        found = frame.schema[f"_out{operator}"].dataType
        if not isinstance(found, ArrayType):
            raise SlotwiseError(
                f"it is flat, so it must return an array, not {found.simpleString()}"
            )

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
        with self._named(operator):
            found = frame.schema[out].dataType
            self.records.add(operator, record_type(found))
            self._check_keys(operator, record_type(found))
        return (
            frame
            if isinstance(found, StructType)
            else frame.withColumn(out, functions.expr(as_record(out)))
        )

    def _check_keys(self, operator: int, found: StructType) -> None:
        known = [*found.names, "id", "ts"]
        for stream in self.topology.outputs[operator]:
            for key in self.routes.key_fields(stream):
                if key not in known:
                    raise SlotwiseError(
                        f"stream {self.topology.streams[stream]} is grouped by '{key}', "
                        f"but its tuples have {', '.join(known)}"
                    )

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
        if self.layout.levels[level + 1] == (self.layout.aggregate,):
            with self._named(self.layout.levels[level + 1][0]):
                record = self.records.into(self.topology, self.layout.levels[level + 1][0])
                if partitions == 1:
                    # Spark would leave out the shuffle where one partition follows another, and
                    # the level would be none.
                    frame = frame.repartitionById(1, functions.col("_hop"))
                made, text = aggregated(frame, self.routes, record)
            self.sql[-1].append(text)
            return made
        self.sql[-1].append(f"→ {counted(partitions, 'partition')} by hop")
        return frame.repartitionById(partitions, functions.col("_hop")).drop("_hop")

    def _routes(self, level: int) -> str:
        cases = []
        for operator in self.layout.levels[level]:
            found = list(
                self.routes.candidates(operator, f"_out{operator}", level in self.flat_levels)
            )
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
            out, flat = f"_out{operator}", self.topology.operators[operator].logic.flat
            is_done = (flat and level in self.flat_levels) or self._is_on_batches(operator)
            meter = "meter_sent" if is_done else "meter_out"
            counted = f"{meter}({out}, {targets})"
            frame = self._add(frame, out, f"CASE WHEN _operator = {operator} THEN {counted} END")
        return frame

    def _needed(self, level: int) -> list[str]:
        """The record columns that somebody after `level` reads."""
        senders = {
            source
            for source, target in self.topology.edges
            if self.layout.level[source] <= level < self.layout.level[target]
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
        names = " ".join(f"WHEN {i} THEN {_text(self.topology.operators[i].name)}" for i in ends)
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
        fields = [functions.col(f"{record}.`{name}`") for name in _fields(frame, record)]
        return frame.select("_sink", "_thread", "id", "ts", *fields)

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


def first_sentence(error: PySparkException) -> str:
    """Spark's message without its class, its SQL state and the plan that follows."""
    text = str(error.getMessage() or error).strip().split("\n")[0]
    text = text.partition("] ")[2] or text
    return text.partition(" SQLSTATE")[0].strip().rstrip(".")


def _fields(frame: DataFrame, record: str) -> list[str]:
    found: DataType = frame.schema[record].dataType
    assert isinstance(found, StructType)
    return list(found.names)


def _calls_python(frame: DataFrame) -> bool:
    jvm = frame.sparkSession._jvm
    pattern = getattr(jvm, "org.apache.spark.sql.catalyst.trees.TreePattern$")
    udf = getattr(pattern, "MODULE$").PYTHON_UDF()
    return bool(frame._jdf.queryExecution().analyzed().containsPattern(udf))


def _text(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
