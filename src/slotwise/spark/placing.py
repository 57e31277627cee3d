"""Placement of a query's threads, and where they are seen to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class TaskPlace:
    """One thread of a query as observed in the last batch that started.

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
    """A task that could not go to its slot, and where it went: `reason` is one sentence."""

    batch: int
    level: int
    partition: int
    slot: int
    executor: str
    reason: str


@dataclass(frozen=True)
class Whereabouts:
    """All threads of a query in its last batch, and what did not go as planned since it began."""

    tasks: tuple[TaskPlace, ...]
    fall_backs: tuple[FallBack, ...]


def place(spark: SparkSession, query: str, levels: Sequence[Sequence[int]]) -> None:
    """From its next batch on, thread `partition` of `level` of `query` runs in
    `levels[level][partition]`, a slot of the session's cluster.

    `query` is the name it is (or will be) started with, or its id. Levels are the query's stages
    in order, the sources' first. Raises SlotwiseError if a slot does not exist or would hold more
    threads than its executor has task slots.
    """
    raise NotImplementedError


def unplace(spark: SparkSession, query: str) -> None:
    """From its next batch on, Spark places the query's threads as it likes."""
    raise NotImplementedError


def where(spark: SparkSession, query: str) -> Whereabouts:
    """Where the threads of `query` (name or id) are in its last batch; fall-backs of all batches."""
    raise NotImplementedError
