"""Placement of a query's threads, and where they are seen to run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import scheduler, threads_per_slot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class TaskPlace:
    """One thread of a query, as launched in the last batch that has all its threads.

    `slot` is -1 for an executor that stands for no slot; `planned` is -1 where no placement holds.
    """

    batch: int
    level: int
    partition: int
    slot: int
    planned: int
    executor: str
    host: str


@dataclass(frozen=True)
class FallBack:
    """A thread that could not go to its slot, why, and the executor it went to instead.

    If the whole placement does not fit the query's stages, `partition` and `slot` are -1 and
    Spark has placed the level.
    """

    batch: int
    level: int
    partition: int
    slot: int
    executor: str | None
    reason: str


@dataclass(frozen=True)
class Whereabouts:
    """All threads of a query in its last batch, and what did not go as planned in any batch."""

    tasks: tuple[TaskPlace, ...]
    """By level, then partition."""
    fall_backs: tuple[FallBack, ...]
    """Oldest first; the last 1,000 at most."""

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The slots seen, in the form that `place` takes."""
        return self._levels(lambda task: task.slot)

    def follow(self, levels: Sequence[Sequence[int]], batch: int) -> bool:
        """Whether the threads were launched by the placement `levels`, in batch `batch` or later; a
        slot that was lost does not matter.
        """
        planned = self._levels(lambda task: task.planned)
        return planned == tuple(map(tuple, levels)) and self.tasks[0].batch >= batch

    def _levels(self, slot: Callable[[TaskPlace], int]) -> tuple[tuple[int, ...], ...]:
        levels: dict[int, list[int]] = {}
        for task in self.tasks:
            levels.setdefault(task.level, []).append(slot(task))
        return tuple(tuple(levels[level]) for level in sorted(levels))


def place(
    spark: SparkSession,
    query: str,
    levels: Sequence[Sequence[int]],
    hosts: Sequence[str] | None = None,
) -> None:
    """From its next batch on, thread `partition` of `level` of `query` runs in
    `levels[level][partition]`, a slot of the session's cluster.

    `query` is the name it is (or will be) started with, or its id. Levels are the query's stages
    in order, the sources' first. `hosts`: from then on these are the slots, the host of each.
    Raises SlotwiseError as `check` does.
    """
    check(spark, levels, hosts)
    text = ";".join(",".join(map(str, level)) for level in levels)
    scheduler(spark).place(query, text, *([] if hosts is None else [",".join(hosts)]))


def check(
    spark: SparkSession, levels: Sequence[Sequence[int]], hosts: Sequence[str] | None = None
) -> None:
    """Raise SlotwiseError if a slot does not exist or would hold more threads than it has room
    for.
    """
    placed = Counter(slot for level in levels for slot in level)
    slots = len(json.loads(scheduler(spark).slotExecutors()) if hosts is None else hosts)
    if wrong := sorted(slot for slot in placed if not 0 <= slot < slots):
        raise SlotwiseError(
            f"slot {wrong[0]} does not exist: the cluster has slots 0 to {slots - 1}"
        )
    room = threads_per_slot(spark)
    fullest, threads = placed.most_common(1)[0]
    if threads > room:
        raise SlotwiseError(
            f"slot {fullest} would hold {threads} threads, and has room for {room}: "
            "start the cluster with more threads per slot"
        )


def unplace(spark: SparkSession, query: str) -> None:
    """From its next batch on, Spark places the query's threads itself."""
    scheduler(spark).unplace(query)


def end(spark: SparkSession, run: str) -> None:
    """A query's run, by its id, is going to be stopped: what it still begins is not placed."""
    scheduler(spark).end(run)


def where(spark: SparkSession, query: str) -> Whereabouts:
    """Where the threads of `query` (name or id) are in its last batch, and its fall-backs."""
    found = json.loads(scheduler(spark).where(query))
    return Whereabouts(
        tuple(TaskPlace(**task) for task in found["tasks"]),
        tuple(FallBack(**fall_back) for fall_back in found["fallBacks"]),
    )
