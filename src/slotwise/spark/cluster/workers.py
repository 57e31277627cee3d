"""What the workers of a standalone master have, and whether a plan fits on them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slotwise.model import Node, SlotwiseError, counted
from slotwise.spark.cluster.executors import scheduler
from slotwise.spark.cluster.matching import missing

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError
    from pyspark.sql import SparkSession

PAGE_S = 3.0
MOST_TOLD = 6
"""Hosts that a refusal lists."""
AUTHENTICATION = (
    "if it requires authentication or encryption, give Spark's settings for these by --spark-conf "
    "or SPARK_CONF_DIR"
)


@dataclass(frozen=True)
class Worker:
    """A worker of a standalone master."""

    host: str
    cores: int
    memory_mb: int
    page: str
    """The address of its page, which says what of it is in use."""

    def executors(self, slot_memory_mb: int) -> int:
        """How many executors of one core it has room for, if nobody else uses it."""
        return min(self.cores, self.memory_mb // slot_memory_mb)


def workers(spark: SparkSession, master: str) -> tuple[Worker, ...]:
    """As the master says. Raises SlotwiseError if it does not answer this driver."""
    from py4j.protocol import Py4JJavaError

    try:
        told = json.loads(scheduler(spark).workers(master))
    except Py4JJavaError as error:
        raise SlotwiseError(silent(master, error) or str(error)) from None
    return tuple(
        Worker(each["host"], each["cores"], each["memoryMb"], each["page"]) for each in told
    )


def silent(master: str, error: Py4JJavaError) -> str | None:
    """That the master does not answer this driver, and why; None if that is not the error."""
    thrown, is_silent = error.java_exception, False
    while True:
        is_silent |= thrown.getClass().getName().endswith("SilentMaster")
        if (cause := thrown.getCause()) is None:
            break
        thrown = cause
    if not is_silent:
        return None
    why = str(thrown.getMessage() or thrown).split("\n")[0]
    return (
        f"master {master} does not answer ({why}): check that it is Spark's standalone master, "
        f"of the same version; {AUTHENTICATION}"
    )


def check(
    spark: SparkSession, master: str, nodes: Sequence[Node], slot_memory_mb: int
) -> tuple[Worker, ...]:
    """The workers; raises SlotwiseError if the nodes would not fit on them even if nobody else
    used them.
    """
    found = workers(spark, master)
    room = [worker.host for worker in found for _ in range(worker.executors(slot_memory_mb))]
    if missing(nodes, room):
        raise SlotwiseError(
            f"{refusal(master, nodes, slot_memory_mb, found)}: plan for fewer slots"
        )
    return found


def refusal(
    master: str, nodes: Sequence[Node], slot_memory_mb: int, found: Sequence[Worker]
) -> str:
    """What the nodes need, and what the master has."""
    listed = [_told(worker) for worker in found[:MOST_TOLD]]
    if len(found) > MOST_TOLD:
        listed.append(f"and {counted(len(found) - MOST_TOLD, 'more worker')}")
    has = "; ".join(listed) or "no worker"
    return f"the plan needs {needed(nodes, slot_memory_mb)}, and {master} has {has}"


def needed(nodes: Sequence[Node], slot_memory_mb: int) -> str:
    """In words: `3 executors of one core and 512 MB, 2 on one host and 1 on another`."""
    slots = sum(node.slots for node in nodes)
    what = f"{counted(slots, 'executor')} of one core and {slot_memory_mb} MB"
    if len(nodes) == 1:
        return f"{what} on one host" if slots > 1 else what
    sizes = sorted(Counter(node.slots for node in nodes).items(), reverse=True)
    each = [f"{size} on {'one host' if n == 1 else f'each of {n} hosts'}" for size, n in sizes]
    return f"{what}, on different hosts: {', '.join(each)}"


def _told(worker: Worker) -> str:
    used = _used(worker.page)
    if used is None:
        return f"{counted(worker.cores, 'core')} and {worker.memory_mb} MB on {worker.host}"
    cores, memory_mb = worker.cores - used["coresused"], worker.memory_mb - used["memoryused"]
    return (
        f"{cores} of {counted(worker.cores, 'core')} and {memory_mb} of {worker.memory_mb} MB free "
        f"on {worker.host}"
    )


def _used(page: str) -> dict[str, Any] | None:
    """None if the page is not to be had: it may be switched off, or need a login."""
    try:
        with urllib.request.urlopen(f"{page}/json/", timeout=PAGE_S) as answer:
            told: dict[str, Any] = json.load(answer)
            return told if {"coresused", "memoryused"} <= told.keys() else None
    except (urllib.error.URLError, OSError, ValueError):
        return None
