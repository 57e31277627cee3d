"""From a session to executors: every slot of a cluster is bound to a living one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slotwise.clock import SYSTEM, Clock, await_condition
from slotwise.model import SlotwiseError
from slotwise.spark.cluster import workers
from slotwise.spark.cluster.executors import living, scheduler
from slotwise.spark.cluster.machines import Machines, machines_of
from slotwise.spark.cluster.masters import is_standalone
from slotwise.spark.cluster.matching import Matching
from slotwise.spark.cluster.standalone import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connect(
    spark: SparkSession, cluster: SparkCluster, timeout_s: float = 60, clock: Clock = SYSTEM
) -> Machines:
    """Ask the master of `cluster` for executors, until every slot is bound to a living one.

    Raises SlotwiseError, with what the master has and the plan needs, when it gives fewer; at once
    if it has fewer in all.
    """
    assert cluster.master is not None
    found: Sequence[workers.Worker] = ()
    if is_standalone(cluster.master):
        found = workers.check(spark, cluster.master, cluster.model.nodes, cluster.slot_memory_mb)
    scheduler(spark).connect(cluster.master, cluster.model.slots)
    slots = cluster.model.slots
    matching = Matching(cluster.model.nodes, lambda more: scheduler(spark).request(slots + more))

    def enough() -> bool:
        hosts = living(spark).values()
        if cluster.slot_hosts:
            return Counter(hosts) >= Counter(cluster.slot_hosts)
        return matching.matches(hosts)

    def enough_or_ended() -> bool:
        return bool(spark.sparkContext._jsc.sc().isStopped()) or enough()

    await_condition(enough_or_ended, timeout_s, clock)
    if spark.sparkContext._jsc.sc().isStopped() or not enough():
        raise SlotwiseError(_refusal(spark, cluster, found, matching, timeout_s))
    machines = machines_of(spark, cluster, cluster.slot_hosts or _slot_hosts(cluster, matching))
    scheduler(spark).setSlots(",".join(machines.hosts(cluster.model)))
    if matching.more:
        machines.keep(cluster.model)
    return machines


def _slot_hosts(cluster: SparkCluster, matching: Matching) -> tuple[str, ...]:
    return tuple(matching.hosts[node] for node in cluster.model.slot_node.tolist())


def _refusal(
    spark: SparkSession,
    cluster: SparkCluster,
    found: Sequence[workers.Worker],
    matching: Matching,
    timeout_s: float,
) -> str:
    nodes, memory_mb = cluster.model.nodes, cluster.slot_memory_mb
    assert cluster.master is not None
    if spark.sparkContext._jsc.sc().isStopped():
        return f"{cluster.master} has ended the application: see its log"
    given = f"in {timeout_s:g} s it provided {len(living(spark))}"
    if matching.more:
        given += f", and {matching.refusal}"
    if found:
        told = workers.refusal(cluster.master, nodes, memory_mb, found)
        return f"{told}; {given}: wait for other applications, or plan for fewer slots"
    needed = workers.needed(nodes, memory_mb)
    return f"the plan needs {needed} of {cluster.master}; {given}: see what its queue has left"
