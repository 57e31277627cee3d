"""The dataflow: operators, and the streams between them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import rustworkx

from slotwise.model.errors import ModelError
from slotwise.model.limits import check_range, set_fields

OperatorKind = Literal["source", "operator", "sink"]
ErrorPolicy = Literal["fail", "skip"]
JoinKind = Literal["inner", "left"]
KEY_GROUPS = 8
GroupingKind = Literal[
    "auto", "shuffle", "fields", "all", "global", "direct", "weighted", "local-or-shuffle"
]


@dataclass(frozen=True)
class Grouping:
    """How a stream's tuples choose among the threads of its target.

    `auto` sends every thread the share that fills slots evenly: by the plan's routing weights where
    they differ, else as `shuffle`, which sends every thread the same share. See Plan.routing.
    `fields` sends a key always to the same thread;
    `all` sends every tuple to every thread; `global` sends all to thread 0; `direct` lets the
    sender choose; `weighted` uses the plan's routing weights; `local-or-shuffle` prefers threads
    in the sender's own slot.
    """

    kind: GroupingKind = "auto"
    fields: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(GroupingKind):
            known = ", ".join(get_args(GroupingKind))
            raise ModelError(f"unknown grouping '{self.kind}': expected one of {known}")
        if self.kind == "fields" and not self.fields:
            raise ModelError("grouping 'fields' needs a field: expected {fields: NAME}")
        if self.fields and self.kind != "fields":
            raise ModelError(f"grouping '{self.kind}' takes no fields: use {{fields: NAME}}")


@dataclass(frozen=True)
class Join:
    """A table that is read when a query starts, and whose fields are added to tuples.

    A tuple becomes one for each row that has the same values in the fields `on`.
    """

    table: str
    """Its file or folder, as Spark finds it."""
    schema: str
    """Its fields and their types, as DDL."""
    on: tuple[str, ...]
    format: str = "csv"
    options: tuple[tuple[str, str], ...] = ()
    """Of the format."""
    how: JoinKind = "inner"
    """What becomes of a tuple without a row: `inner` drops it, `left` leaves the fields NULL."""


@dataclass(frozen=True)
class Logic:
    """What an operator computes, as the spec says it; planning never looks inside."""

    expr: str | None = None
    flat: bool = False
    aggregate: tuple[tuple[str, str], ...] = ()
    distinct: tuple[str, ...] = ()
    """Keys: of the tuples that have the same, the first is sent on."""
    stateful: tuple[str, ...] = ()
    """Keys of a stateful operator: its `python` is a class that keeps a state for each of them."""
    key_groups: int = KEY_GROUPS
    """Of a keyed operator: its keys are divided into so many groups for good, and the groups among
    its threads, of which it has no more."""
    where: str | None = None
    """A condition: tuples for which it is true are sent on as they are."""
    join: Join | None = None
    python: str | None = None
    java: str | None = None
    """A class of Java or Scala."""
    on_error: ErrorPolicy = "fail"
    """What a tuple does on which the expression fails: end the query, or be counted and skipped."""
    format: str | None = None
    """Of a source or sink, as Spark names it; None: a source is `paced`, a sink writes where the
    run says. An operator with a format is a topic that its tuples go through; see formats.py."""
    options: tuple[tuple[str, str], ...] = ()
    """Of a source, a sink or a topic: those of its format."""
    schema: str | None = None
    """Of a source or a topic in between: the fields of its records, as DDL; of an operator in Java
    or with state, those of its output tuples."""
    id: str | None = None
    """Of a source: the field that is the tuple's id."""
    event_time: str | None = None
    """Of a source: the field that says when the tuple was due."""
    partitions: int | None = None
    """Of a topic that is read: its partitions, divided among the threads of its operator, which has
    no more; None: as many as threads."""

    @property
    def is_empty(self) -> bool:
        """Nothing to compute, of data that is made up: a run has the operator only take the time
        that its profile says.
        """
        has_data = (self.format or "paced") != "paced"
        computes = self.expr or self.where or self.join or self.is_keyed or self.python or self.java
        return not (has_data or computes)

    @property
    def makes_several(self) -> bool:
        """It may make several tuples of one."""
        return self.flat or self.join is not None

    @property
    def is_keyed(self) -> bool:
        """It remembers something for each key."""
        return bool(self.aggregate or self.distinct or self.stateful)


@dataclass(frozen=True)
class Operator:
    """One step of the dataflow, run by one or more threads.

    A source emits at `share` times the topology's input rate.
    """

    name: str
    kind: OperatorKind = "operator"
    share: float = 1.0
    logic: Logic = Logic()

    def __post_init__(self) -> None:
        set_fields(self, share=float(self.share))

    @property
    def most_threads(self) -> int | None:
        """As many as its keys have groups, or its topic has partitions; None: any number."""
        return self.logic.key_groups if self.logic.is_keyed else self.logic.partitions

    def tasks(self, threads: int) -> int:
        """Into which its work is divided on Spark; each of its threads has some of them."""
        return self.most_threads or threads


@dataclass(frozen=True)
class Stream:
    """An edge: each tuple its source handles puts `selectivity` tuples on it.

    `loop` marks an edge that leads back to an earlier operator.
    """

    source: str
    target: str
    selectivity: float = 1.0
    grouping: Grouping = Grouping()
    loop: bool = False

    def __post_init__(self) -> None:
        set_fields(self, selectivity=float(self.selectivity))

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


@dataclass(frozen=True)
class Topology:
    """A checked dataflow: whatever can be built here can be planned.

    `workers` is how many slots the topology asks for where the user fixes that (Storm's way).
    `dead_letters`, with a format and options, is where records go that `on_error: skip` leaves out.

    >>> t = Topology("t", (Operator("a", "source"), Operator("b")), (Stream("a", "b"),))
    >>> [operator.name for operator in t.in_order()]
    ['a', 'b']
    """

    name: str
    operators: tuple[Operator, ...]
    streams: tuple[Stream, ...]
    workers: int | None = None
    dead_letters: Logic | None = None

    def __post_init__(self) -> None:
        _check_operators(self)
        _check_streams(self)
        _check_shape(self)

    @cached_property
    def index(self) -> dict[str, int]:
        """Operator name -> its position in `operators`."""
        return {operator.name: position for position, operator in enumerate(self.operators)}

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Each stream as (source position, target position)."""
        return tuple((self.index[s.source], self.index[s.target]) for s in self.streams)

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """Per operator, the positions of the streams that enter it."""
        return self._streams_by(end=1)

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Per operator, the positions of the streams that leave it."""
        return self._streams_by(end=0)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Operator positions in topological order, loop streams left out; ties as declared."""
        graph = _graph(self, with_loops=False)
        order = rustworkx.lexicographical_topological_sort(graph, key=lambda node: f"{node:09d}")
        return tuple(order)

    @cached_property
    def breadth_first_order(self) -> tuple[int, ...]:
        """Operator positions level by level from the sources, each once."""
        seen = dict.fromkeys(i for i, o in enumerate(self.operators) if o.kind == "source")
        queue = list(seen)
        for position in queue:
            for stream in self.outputs[position]:
                target = self.edges[stream][1]
                if target not in seen:
                    seen[target] = None
                    queue.append(target)
        return tuple(queue)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Operator positions by connected part, loops included: no stream leads between two parts.
        Parts and the operators of each as declared.
        """
        graph = _graph(self, with_loops=True)
        return tuple(sorted(tuple(sorted(p)) for p in rustworkx.weakly_connected_components(graph)))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Positions of the operators without outputs: there tuples leave the dataflow."""
        return tuple(i for i, outputs in enumerate(self.outputs) if not outputs)

    @property
    def sources(self) -> tuple[Operator, ...]:
        return tuple(o for o in self.operators if o.kind == "source")

    @property
    def has_loops(self) -> bool:
        return any(s.loop for s in self.streams)

    def in_order(self) -> Iterator[Operator]:
        return (self.operators[position] for position in self.order)

    def _streams_by(self, end: int) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.operators]
        for position, edge in enumerate(self.edges):
            found[edge[end]].append(position)
        return tuple(tuple(streams) for streams in found)


def _graph(topology: Topology, with_loops: bool) -> rustworkx.PyDiGraph[int, int]:
    graph: rustworkx.PyDiGraph[int, int] = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(topology.operators)))
    graph.add_edges_from(
        (source, target, position)
        for position, (source, target) in enumerate(topology.edges)
        if with_loops or not topology.streams[position].loop
    )
    return graph


def _check_operators(topology: Topology) -> None:
    where = ("topology", "operators")
    if not topology.operators:
        raise ModelError("the topology has no operators", where)
    seen = set()
    for operator in topology.operators:
        here = (*where, operator.name)
        if not operator.name:
            raise ModelError("an operator has an empty name", here)
        if operator.name in seen:
            raise ModelError(f"duplicate operator name '{operator.name}'", here)
        seen.add(operator.name)
        if operator.kind not in get_args(OperatorKind):
            kinds = ", ".join(get_args(OperatorKind))
            raise ModelError(
                f"operator '{operator.name}' has the unknown kind '{operator.kind}': "
                f"expected one of {kinds}",
                (*here, "kind"),
            )
        if not (math.isfinite(operator.share) and operator.share > 0):
            raise ModelError(
                f"source '{operator.name}' has share {operator.share}: expected a number > 0",
                (*here, "share"),
            )
        check_range(operator.share, "share", operator.name, (*here, "share"))
    if not topology.sources:
        raise ModelError(
            "the topology has no source: set 'kind: source' on at least one operator", where
        )
    if topology.workers is not None and topology.workers < 1:
        raise ModelError(
            f"workers is {topology.workers}: expected an integer ≥ 1", ("topology", "workers")
        )


def _check_streams(topology: Topology) -> None:
    names = [operator.name for operator in topology.operators]
    kinds = {operator.name: operator.kind for operator in topology.operators}
    seen = set()
    for position, stream in enumerate(topology.streams):
        here = ("topology", "streams", position)
        for end, key in ((stream.source, "from"), (stream.target, "to")):
            if end not in kinds:
                raise ModelError(
                    f"stream {stream} names the unknown operator '{end}': "
                    f"there are {_listed(names)}",
                    (*here, key),
                )
        if kinds[stream.target] == "source":
            raise ModelError(
                f"stream {stream} leads into the source '{stream.target}'", (*here, "to")
            )
        if kinds[stream.source] == "sink":
            raise ModelError(f"stream {stream} leaves the sink '{stream.source}'", (*here, "from"))
        if (stream.source, stream.target) in seen:
            raise ModelError(
                f"duplicate stream {stream}: use one, with their selectivities added", here
            )
        seen.add((stream.source, stream.target))
        if not (math.isfinite(stream.selectivity) and stream.selectivity > 0):
            raise ModelError(
                f"stream {stream} has selectivity {stream.selectivity}: expected a number > 0",
                (*here, "selectivity"),
            )
        what = f"selectivity of stream {stream}"
        check_range(stream.selectivity, what, path=(*here, "selectivity"))


def _check_shape(topology: Topology) -> None:
    graph = _graph(topology, with_loops=False)
    if not rustworkx.is_directed_acyclic_graph(graph):
        cycle = [edge[0] for edge in rustworkx.digraph_find_cycle(graph)]
        names = [topology.operators[i].name for i in cycle]
        last = topology.edges.index((cycle[-1], cycle[0]))
        raise ModelError(
            f"there is a cycle {' → '.join([*names, names[0]])}: "
            f"mark the stream that leads back with 'loop: true'",
            ("topology", "streams", last),
        )
    for position, stream in enumerate(topology.streams):
        source, target = topology.edges[position]
        if stream.loop and source != target and not rustworkx.has_path(graph, target, source):
            raise ModelError(
                f"stream {stream} is marked 'loop: true' but closes no loop: remove the mark",
                ("topology", "streams", position, "loop"),
            )
    reached = set(topology.breadth_first_order)
    for position, operator in enumerate(topology.operators):
        if position not in reached:
            raise ModelError(
                f"operator '{operator.name}' is unreachable: no stream leads to it from a source",
                ("topology", "operators", operator.name),
            )


def _listed(names: list[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"
