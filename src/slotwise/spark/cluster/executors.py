"""The executors of a session, and the slots they stand for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any

from slotwise.model import SlotwiseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SlotExecutor:
    """The living executor that stands for a slot."""

    slot: int
    host: str
    executor: str
    """Spark's executor id."""


def slots(spark: SparkSession) -> tuple[SlotExecutor | None, ...]:
    """Per slot of the session's cluster, its executor now; None while it has none."""
    hosts = living(spark)
    bound = json.loads(scheduler(spark).slotExecutors())
    return tuple(
        SlotExecutor(slot, hosts[executor], executor) if executor in hosts else None
        for slot, executor in enumerate(bound)
    )


def living(spark: SparkSession) -> dict[str, str]:
    """The living executors of the session, and their hosts."""
    found: dict[str, str] = json.loads(scheduler(spark).executors())
    return found


def unbound(spark: SparkSession) -> dict[str, str]:
    """The living executors that stand for no slot, and their hosts."""
    hosts = living(spark)
    bound = set(json.loads(scheduler(spark).slotExecutors()))
    return {executor: host for executor, host in hosts.items() if executor not in bound}


def task_cpus(threads_per_slot: int) -> str:
    """`spark.task.cpus` such that an executor of one core has room for so many tasks.

    Rounded down to the nine decimals that Spark takes, so that all of them fit.

    >>> task_cpus(12)
    '0.083333333'
    """
    share = (Decimal(1) / threads_per_slot).quantize(Decimal("1e-9"), ROUND_DOWN)
    return f"{share:f}"


def threads_per_slot(spark: SparkSession) -> int:
    """How many threads an executor of the session has room for."""
    return int(1 / Decimal(spark.conf.get("spark.task.cpus") or 1))


def scheduler(spark: SparkSession) -> Any:
    """The PlacedScheduler (jvm/…/PlacedScheduler.java) of a session made here."""
    found = spark.sparkContext._jsc.sc().taskScheduler()
    if not found.getClass().getName().endswith("PlacedScheduler"):
        raise SlotwiseError("this Spark session was not created by slotwise.spark.cluster")
    return found
