"""The executors of a session, and the slots they stand for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slotwise import model
from slotwise.clock import SYSTEM, Clock, await_condition
from slotwise.model import SlotwiseError, counted
from slotwise.spark.cluster.standalone import SparkCluster

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
    hosts = json.loads(scheduler(spark).executors())
    bound = json.loads(scheduler(spark).slotExecutors())
    return tuple(
        SlotExecutor(slot, hosts[executor], executor) if executor in hosts else None
        for slot, executor in enumerate(bound)
    )


def unbound(spark: SparkSession) -> dict[str, str]:
    """The living executors that stand for no slot, and their hosts."""
    hosts: dict[str, str] = json.loads(scheduler(spark).executors())
    bound = set(json.loads(scheduler(spark).slotExecutors()))
    return {executor: host for executor, host in hosts.items() if executor not in bound}


def scheduler(spark: SparkSession) -> Any:
    """The PlacedScheduler (jvm/…/PlacedScheduler.java) of a session made here."""
    found = spark.sparkContext._jsc.sc().taskScheduler()
    if not found.getClass().getName().endswith("PlacedScheduler"):
        raise SlotwiseError("this Spark session was not created by slotwise.spark.cluster")
    return found


def await_executors(
    spark: SparkSession, cluster: SparkCluster, timeout_s: float, clock: Clock = SYSTEM
) -> dict[str, str]:
    """Living executors and their hosts, as soon as there is one for each slot."""
    needed, found = cluster.model.slots, dict[str, str]()

    def enough() -> bool:
        nonlocal found
        found = json.loads(scheduler(spark).executors())
        return len(found) >= needed or bool(spark.sparkContext._jsc.sc().isStopped())

    await_condition(enough, timeout_s, clock)
    if len(found) < needed:
        raise SlotwiseError(
            f"the plan needs {counted(needed, 'executor')} of "
            f"{counted(cluster.threads_per_slot, 'thread')} and "
            f"{cluster.slot_memory_mb} MB, and {cluster.master} provided {len(found)} in "
            f"{timeout_s:g} s"
        )
    return found


def matched_hosts(cluster: model.Cluster, executors: Mapping[str, str]) -> tuple[str, ...]:
    """The host of each slot: the node with most slots goes to the host with most executors, and
    so on; refused if one has too few.
    """
    nodes = sorted(range(len(cluster.nodes)), key=lambda n: (-cluster.nodes[n].slots, n))
    hosts = sorted(Counter(executors.values()).items(), key=lambda item: (-item[1], item[0]))
    host_of = {}
    for rank, node in enumerate(nodes):
        host, count = hosts[rank] if rank < len(hosts) else ("no host", 0)
        if count < cluster.nodes[node].slots:
            raise SlotwiseError(
                f"node '{cluster.nodes[node].name}' has "
                f"{counted(cluster.nodes[node].slots, 'slot')}, and {host}, the largest host left, "
                f"has {counted(count, 'executor')} "
                f"({len(executors)} on {counted(len(hosts), 'host')})"
            )
        host_of[node] = host
    return tuple(host_of[int(node)] for node in cluster.slot_node)
