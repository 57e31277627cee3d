"""A topology cut into levels: the stages of one query, with a partition for every task.

A task is a thread of the plan; but the tasks of a keyed aggregate are its key groups, which divide
its state for good, and those of a source with a topic the topic's partitions. Each of its threads
has an even run of them, all in the thread's slot, so more or fewer threads move tasks and leave the
query as it is.

Sources are level 0. Every other operator is one level after the last of those that feed it, but:

- operators that feed nobody are in the last level, where the query's output is written;
- a keyed aggregate has its level to itself, because Spark spreads its keys over all partitions of
  the stage; operators that would share that level are moved to the next.

A stream that skips levels is passed on in between by threads that are there anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
        return tuple(
            operator.logic.key_groups
            if position == self.aggregate
            else operator.logic.partitions or threads
            for position, (operator, threads) in enumerate(
                zip(self.topology.operators, self.threads, strict=True)
            )
        )

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
    def aggregate(self) -> int | None:
        """The position of the keyed operator, if there is one: an aggregate, or one that sends on
        what is distinct, which is an aggregate to Spark.
        """
        return next((i for i, o in enumerate(self.topology.operators) if o.logic.is_keyed), None)

    def is_last(self, level: int) -> bool:
        return level == len(self.levels) - 1

    def thread(self, level: int, partition: int) -> tuple[int, int]:
        """(operator, k): whose thread a partition of a level is, or belongs to."""
        number = self.task_thread[self.partition_task[level][partition]]
        first_thread = np.cumsum((0, *self.threads))
        operator = int(np.searchsorted(first_thread, number, "right")) - 1
        return operator, int(number - first_thread[operator])

    def passing(self, level: int) -> tuple[int, ...]:
        """Operators of later levels whose input passes through `level` (see `delivered`)."""
        found = {
            target
            for source, target in self.topology.edges
            if self.level[source] < level < self.level[target]
        }
        return tuple(sorted(found | self.delivered(level)))

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
    alone = next((i for i, o in enumerate(topology.operators) if o.logic.is_keyed), None)
    level = _longest_paths(topology, alone)
    last = max(level)
    leaves = [
        position
        for position, outputs in enumerate(topology.outputs)
        if not outputs and position != alone and topology.operators[position].kind != "source"
    ]
    if leaves and alone is not None and level[alone] == last:
        last += 1
    for leaf in leaves:
        level[leaf] = last
    return tuple(level)


def _longest_paths(topology: Topology, alone: int | None) -> list[int]:
    """Per operator, the most streams between it and a source, the level of `alone` kept free."""
    level = [0] * len(topology.operators)

    def earliest(position: int) -> int:
        return max((1 + level[topology.edges[s][0]] for s in topology.inputs[position]), default=0)

    for position in topology.order:
        level[position] = earliest(position)
    if alone is None:
        return level
    kept = level[alone]
    for position in topology.order:
        level[position] = earliest(position)
        if level[position] == kept and position != alone:
            level[position] += 1
    return level
