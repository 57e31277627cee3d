"""What Spark cannot run, refused before anything starts: which operator, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from slotwise import formats
from slotwise.model import Operator, Pipeline, SlotwiseError, Topology, counted
from slotwise.spark.query.aggregate import keys_by, lateness_of, results_of
from slotwise.spark.query.functions import Function
from slotwise.spark.query.keys import are_same
from slotwise.spark.query.levels import Layout, has_no_loops
from slotwise.spec.writing import flow

Mode = Literal["real-time", "micro-batch"]


def mode_of(pipeline: Pipeline, functions: Mapping[int, Function]) -> Mode:
    """The engine asked for; `auto` is real-time when no operator needs Python processes, and every
    source can be read in it.
    """
    in_batches = only_in_batches(pipeline.topology)
    if in_batches and pipeline.engine != "micro-batch":
        raise SlotwiseError(f"{in_batches}: set engine: micro-batch")
    in_python = [i for i, function in functions.items() if function.runs_python]
    if pipeline.engine == "real-time" and in_python:
        name = pipeline.topology.operators[in_python[0]].name
        kind = "is a Python function on Arrow batches"
        if not functions[in_python[0]].on_batches:
            kind = "calls a Python UDF"
        raise SlotwiseError(
            f"operator '{name}' {kind}, which real-time mode cannot "
            "run: use an expression or a function of columns, or set engine: micro-batch"
        )
    not_read = read_in_batches(pipeline.topology)
    if pipeline.engine == "real-time" and not_read:
        raise SlotwiseError(f"{not_read}: set engine: micro-batch, or auto")
    if pipeline.engine != "auto":
        return pipeline.engine
    return "micro-batch" if in_python or not_read else "real-time"


def only_in_batches(topology: Topology) -> str:
    """A sentence on logic that real-time mode has not; empty if there is none. With micro-batches
    it takes until the end of a batch, so nobody gets them unasked.
    """
    for operator in topology.operators:
        if lateness_of(operator.logic) is not None:
            return (
                f"aggregate '{operator.name}' has windows that close, which real-time mode cannot"
            )
        if operator.logic.stateful:
            return f"operator '{operator.name}' is stateful, which real-time mode cannot"
    return ""


def read_in_batches(topology: Topology) -> str:
    """A sentence on a source that real-time mode cannot read; empty if there is none."""
    slow = [o for o in topology.sources if o.logic.format not in formats.REAL_TIME]
    if not slow:
        return ""
    return f"source '{slow[0].name}' reads {slow[0].logic.format}, which real-time mode cannot"


def check(layout: Layout, mode: Mode, functions: Mapping[int, Function]) -> None:
    """Raise SlotwiseError for the first thing that Spark cannot run in this mode."""
    topology = layout.topology
    _check_loops(topology)
    for position, operator in enumerate(topology.operators):
        _check_operator(operator, functions.get(position))
    _check_aggregates(topology)
    _check_key_groups(layout)
    _check_partitions(layout)
    if mode == "micro-batch":
        _check_passing(layout)


def _check_passing(layout: Layout) -> None:
    for position in layout.keyed:
        if passing := layout.passing(layout.level[position]):
            keyed = layout.topology.operators[position]
            other = layout.topology.operators[passing[0]].name
            raise SlotwiseError(
                f"micro-batches cannot pass tuples for '{other}' "
                f"through the level of {_kind(keyed)} '{keyed.name}': "
                "split the topology into two pipelines"
            )


def _check_key_groups(layout: Layout) -> None:
    for position in layout.keyed:
        _check_groups_of(layout, position)


def _check_groups_of(layout: Layout, position: int) -> None:
    threads, groups = layout.threads[position], layout.tasks[position]
    operator = layout.topology.operators[position]
    kind = _kind(operator)
    if groups != layout.key_groups:
        first = layout.topology.operators[layout.keyed[0]]
        raise SlotwiseError(
            f"{kind} '{operator.name}' has {counted(groups, 'key group')} and "
            f"'{first.name}' has {layout.key_groups}: in a Spark query they must have the same "
            f"number; set key_groups: {max(groups, layout.key_groups or 0)} in both"
        )
    if threads > groups:
        raise SlotwiseError(
            f"{kind} '{operator.name}' has {threads} threads "
            f"and its keys are divided into {counted(groups, 'group')}: set key_groups: {threads} "
            f"or more in its {kind}"
        )


def _check_partitions(layout: Layout) -> None:
    for operator, threads, tasks in zip(
        layout.topology.operators, layout.threads, layout.tasks, strict=True
    ):
        if formats.is_read(operator) and threads > tasks:
            raise SlotwiseError(
                f"{operator.kind} '{operator.name}' has {threads} threads, and its topic "
                f"{counted(tasks, 'partition')}: plan it with {tasks} or fewer, such as profile "
                f"{{fixed: {{threads: {tasks}}}}}, or add partitions to the topic"
            )


def _check_loops(topology: Topology) -> None:
    """A loop must lead through a topic: without the streams that end in one there is none left."""
    if not topology.has_loops:
        return
    links = [formats.is_link(operator) for operator in topology.operators]
    left: dict[int, list[int]] = {position: [] for position in range(len(links))}
    for source, target in topology.edges:
        if not links[target]:
            left[target].append(source)
    if not has_no_loops(left):
        stream = next(stream for stream in topology.streams if stream.loop)
        raise SlotwiseError(
            f"stream {stream} leads back to '{stream.target}', and a Spark query has no loops: let "
            "its tuples go through a topic, by an operator TOPIC: {format: kafka, schema: ..., "
            'options: {kafka.bootstrap.servers: "HOST:9092", topic: ...}} and, in its place, the '
            f"streams {stream.source} → TOPIC and TOPIC → {stream.target} (loop: true); as it is, "
            "it can be planned and simulated"
        )
    if all(topology.outputs):
        raise SlotwiseError("nothing leaves the loop: add a sink")


def _check_operator(operator: Operator, function: Function | None) -> None:
    logic, name = operator.logic, operator.name
    given = [
        key
        for key, there in (
            ("expr", logic.expr is not None),
            ("where", logic.where is not None),
            ("join", logic.join is not None),
            ("aggregate", bool(logic.aggregate)),
            ("distinct", bool(logic.distinct)),
            ("stateful", bool(logic.stateful)),
            ("python", function is not None and not logic.stateful),
            ("java", logic.java is not None),
        )
        if there
    ]
    if len(given) > 1:
        raise SlotwiseError(
            f"operator '{name}' has both {given[0]} and {given[1]}: keep one of them"
        )
    if logic.flat and given not in (["expr"], ["python"], ["java"]):
        raise SlotwiseError(f"operator '{name}' is flat but has no expr that returns an array")
    if not formats.parses_messages(operator):
        formats.check(operator)
    on_batches = function is not None and function.on_batches
    if logic.on_error == "skip" and (logic.is_keyed or on_batches):
        what = "a Python function on batches" if on_batches else _kind(operator)
        raise SlotwiseError(
            f"operator '{name}' has on_error: skip, which {what} cannot: check its tuples in an "
            "operator before it, or in the function"
        )
    if logic.is_keyed and operator.kind == "source":
        raise SlotwiseError(
            f"source '{name}' has {_kind(operator)}: move it to an operator of its own"
        )


def _check_aggregates(topology: Topology) -> None:
    keyed = [operator for operator in topology.operators if operator.logic.is_keyed]
    for operator in keyed:
        _check_keyed(topology, operator)
    closing = [operator for operator in keyed if lateness_of(operator.logic) is not None]
    others = [each for each in keyed if each not in closing and not each.logic.distinct]
    if closing and others:
        raise SlotwiseError(
            f"'{closing[0].name}' answers when its windows close (lateness), and "
            f"'{others[0].name}' answers before: a query of Spark's can have one of both; split "
            "the topology into two pipelines"
        )


def _check_keyed(topology: Topology, operator: Operator) -> None:
    name, aggregate = operator.name, dict(operator.logic.aggregate)
    if operator.logic.stateful and not (operator.logic.python and operator.logic.schema):
        missing = "schema" if operator.logic.python else "python"
        raise SlotwiseError(
            f"stateful '{name}' has no {missing}: it needs the class that keeps its states, as "
            "python: module:Class, and the fields of its tuples, as schema: 'n BIGINT'"
        )
    if operator.logic.aggregate and not aggregate.get("by"):
        raise SlotwiseError(f"aggregate '{name}' has no 'by': expected the fields to group by")
    if operator.logic.aggregate and not results_of(operator.logic):
        raise SlotwiseError(
            f"aggregate '{name}' computes nothing: add a result, such as n: count(*)"
        )
    keys = keys_by(operator.logic)
    if not all(keys):
        raise SlotwiseError(f"{_kind(operator)} '{name}' has an empty key: by: {aggregate['by']}")
    for stream in topology.streams:
        if stream.target == name and not are_same(stream.grouping.fields, keys):
            raise SlotwiseError(
                f"stream {stream} must send equal keys to one thread of {_kind(operator)} "
                f"'{name}': set grouping: "
                f"{flow({'fields': keys[0] if len(keys) == 1 else list(keys)})}"
            )


def _kind(operator: Operator) -> str:
    if operator.logic.stateful:
        return "stateful"
    return "aggregate" if operator.logic.aggregate else "distinct"
