"""A topology cut into levels: the stages of one query, with a partition for every task.

A task is a thread of the plan; but the tasks of a keyed aggregate are its key groups, which divide
its state for good, and those of a source with a topic the topic's partitions. Each of its threads
has an even run of them, all in the thread's slot, so more or fewer threads move tasks and leave the
query as it is.

Sources are level 0. Every other operator is one level after the last of those that feed it, but:

- operators that feed nobody are in the last level, where the query's output is written;
- what comes to a link is written to its topic in the last level, like the tuples of sinks; the link
  itself is a source, in level 0, so that a loop ends in its topic and begins there again;
- every keyed operator has its level to itself, because Spark spreads its keys over all partitions
  of the stage; operators that would share that level are moved to the next.

A stream that skips levels is passed on in between by threads that are there anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from slotwise.formats import is_link
from slotwise.model import Placement, Plan, Topology


@dataclass(frozen=True)
class Layout:
    """Task k of operator i is partition `first_partition[i] + k` of level `level[i]`."""

    topology: Topology
    threads: tuple[int, ...]
    """Per operator."""
    level: tuple[int, ...]
    """Per operator."""

    @cached_property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Per level, the positions of its operators, as declared."""
        return tuple(
            tuple(i for i, own in enumerate(self.level) if own == level)
            for level in range(max(self.level) + 1)
        )

    @cached_property
    def tasks(self) -> tuple[int, ...]:
        """Per operator: its threads, or the key groups of an aggregate, or the partitions of a
        topic.
        """
        each = zip(self.topology.operators, self.threads, strict=True)
        return tuple(operator.tasks(threads) for operator, threads in each)

    @cached_property
    def first_task(self) -> tuple[int, ...]:
        """Per operator, the number of its task 0: tasks are numbered through, as threads are. One
        more entry at the end, the number of tasks.
        """
        return (0, *np.cumsum(self.tasks).tolist())

    @cached_property
    def task_thread(self) -> NDArray[np.int64]:
        """Per task its thread, as the plan numbers them: key group g of G, of an aggregate with n
        threads, belongs to thread g · n ÷ G, rounded down; so do partitions of a topic.
        """
        first_thread = np.cumsum((0, *self.threads))
        return np.concatenate(
            [
                first_thread[i] + np.arange(tasks) * self.threads[i] // tasks
                for i, tasks in enumerate(self.tasks)
            ]
        )

    @cached_property
    def partition_task(self) -> tuple[tuple[int, ...], ...]:
        """Per level and partition, the number of its task."""
        return tuple(
            tuple(
                task
                for operator in operators
                for task in range(self.first_task[operator], self.first_task[operator + 1])
            )
            for operators in self.levels
        )

    @cached_property
    def first_partition(self) -> tuple[int, ...]:
        """Per operator, the partition of its task 0 within its level."""
        return tuple(
            self.partition_task[level].index(self.first_task[operator])
            for operator, level in enumerate(self.level)
        )

    @cached_property
    def partitions(self) -> tuple[int, ...]:
        """Per level, its number of partitions: all tasks of its operators."""
        return tuple(map(len, self.partition_task))

    @cached_property
    def keyed(self) -> tuple[int, ...]:
        """The positions of keyed operators: of aggregates, and of those that send on what is
        distinct, which are aggregates to Spark.
        """
        return _keyed(self.topology)

    @property
    def key_groups(self) -> int | None:
        """How many key groups each keyed operator has; None: there is none."""
        return self.tasks[self.keyed[0]] if self.keyed else None

    def keyed_at(self, level: int) -> int | None:
        """The keyed operator that has this level, if one has."""
        return next((i for i in self.keyed if self.level[i] == level), None)

    def is_last(self, level: int) -> bool:
        return level == len(self.levels) - 1

    def thread(self, level: int, partition: int) -> tuple[int, int]:
        """(operator, k): whose thread a partition of a level is, or belongs to."""
        number = self.task_thread[self.partition_task[level][partition]]
        first_thread = np.cumsum((0, *self.threads))
        operator = int(np.searchsorted(first_thread, number, "right")) - 1
        return operator, int(number - first_thread[operator])

    def passing(self, level: int) -> tuple[int, ...]:
        """Operators of later levels whose input passes through `level` (see `delivered`), and links
        whose input does.
        """
        found = {
            target
            for source, target in self.topology.edges
            if self.level[source] < level < self.level[target]
            or (target in self.links and self.level[source] < level)
        }
        return tuple(sorted(found | self.delivered(level)))

    @cached_property
    def links(self) -> frozenset[int]:
        """The operators whose tuples go through a topic."""
        return frozenset(_links(self.topology))

    def delivered(self, level: int) -> set[int]:
        """Operators of earlier levels that feed nobody: their results pass on to be written."""
        return {
            operator
            for operator, outputs in enumerate(self.topology.outputs)
            if not outputs and self.level[operator] < level
        }

    def slots(self, placement: Placement) -> tuple[tuple[int, ...], ...]:
        """Per level and partition, the slot where `placement` has that task's thread."""
        slots = placement.slots[self.task_thread].tolist()
        return tuple(tuple(slots[task] for task in tasks) for tasks in self.partition_task)


def layout(plan: Plan) -> Layout:
    """The levels of the plan's topology, with the plan's threads. Time: operators + streams."""
    topology = plan.pipeline.topology
    return Layout(topology, tuple(plan.allocation.threads.tolist()), _levels(topology))


def _levels(topology: Topology) -> tuple[int, ...]:
    level = _longest_paths(topology)
    last, keyed = max(level), _keyed(topology)
    leaves = [
        position
        for position, outputs in enumerate(topology.outputs)
        if not outputs and position not in keyed and topology.operators[position].kind != "source"
    ]
    links = _links(topology)
    written = [source for source, target in topology.edges if target in links]
    if any(level[position] == last for position in [*(keyed if leaves else ()), *written]):
        last += 1
    for leaf in leaves:
        level[leaf] = last
    return tuple(level)


def senders(topology: Topology) -> dict[int, list[int]]:
    """Per operator, those that send to it within a query: what comes to a link ends there. Loops
    that are left have no way to run; their loop streams are left out.
    """
    links = _links(topology)

    def found(also_loops: bool) -> dict[int, list[int]]:
        made: dict[int, list[int]] = {position: [] for position in range(len(topology.operators))}
        for stream, (source, target) in zip(topology.streams, topology.edges, strict=True):
            if target not in links and (also_loops or not stream.loop):
                made[target].append(source)
        return made

    return found(has_no_loops(found(True)))


def has_no_loops(senders: Mapping[int, list[int]]) -> bool:
    try:
        TopologicalSorter(senders).prepare()
    except CycleError:
        return False
    return True


def _links(topology: Topology) -> tuple[int, ...]:
    return tuple(i for i, operator in enumerate(topology.operators) if is_link(operator))


def _keyed(topology: Topology) -> tuple[int, ...]:
    return tuple(i for i, operator in enumerate(topology.operators) if operator.logic.is_keyed)


def _longest_paths(topology: Topology) -> list[int]:
    """Per operator, the most streams between it and a source, the levels of keyed ones kept free.

    The keyed operator with the lowest level is the first to have its own: those after it can move
    nobody below.
    """
    owners: dict[int, int] = {}
    level = _levels_around(topology, owners)
    waiting = set(_keyed(topology))
    while waiting:
        first = min(waiting, key=lambda position: (level[position], position))
        waiting.remove(first)
        owners[level[first]] = first
        level = _levels_around(topology, owners)
    return level


def _levels_around(topology: Topology, owners: Mapping[int, int]) -> list[int]:
    """Per operator its level; no other one is in a level that has an owner."""
    level = [0] * len(topology.operators)
    before = senders(topology)
    for position in TopologicalSorter(before).static_order():
        level[position] = max((1 + level[sender] for sender in before[position]), default=0)
        while owners.get(level[position], position) != position:
            level[position] += 1
    return level
