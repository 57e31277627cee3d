"""Where a plan runs: a cluster of our own on this machine, or an existing standalone master."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from slotwise import model
from slotwise.model import Node, SlotwiseError, counted
from slotwise.spark.cluster import java, masters, processes, quotas
from slotwise.spark.cluster.conf import of_daemons
from slotwise.spark.cluster.folders import passing_folder

MASTER_HOST = "127.0.0.1"
FIRST_WORKER = 11
"""Worker n listens on 127.0.0.(11 + n), so that Spark takes the nodes for different hosts."""
MOST_NODES = 255 - FIRST_WORKER
DAEMON_MB = 200
LEAST_SLOT_MB = 470
"""Executors refuse to start with a heap of less than 450 MB, and of these Java keeps a part."""
HEAP_SHARE = 0.8
"""A Java process takes more than its heap; this part of it is heap, seen on small executors."""


@dataclass(frozen=True)
class SparkCluster:
    """How the executors of a standalone master are to stand for the slots of a model cluster."""

    model: model.Cluster
    threads_per_slot: int
    """The most threads that a slot may hold, fall-backs included; see `executors.task_cpus`."""
    slot_memory_mb: int
    master: str | None = None
    """`spark://host:port`, or that of another manager; None: not started yet (see `started`)."""
    slot_hosts: tuple[str, ...] = ()
    """Per slot, the address of its worker; empty: matched to what an existing master gives."""
    folder: Path | None = None
    """Logs, work and shuffle files of an embedded cluster, removed when it ends."""
    quota: quotas.Quota | None = None
    cores_per_slot: float | None = None
    """The CPU quota of a slot on a node of speed 1."""
    without_quota: frozenset[str] = frozenset()
    """The nodes whose slots have none."""
    daemons: processes.Daemons | None = None
    """Of an embedded cluster that was started."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of Spark that an embedded cluster's master and workers have."""

    @property
    def is_embedded(self) -> bool:
        return self.folder is not None

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of an embedded cluster's master and workers, in this order."""
        return () if self.daemons is None else self.daemons.pids

    def worker(self, node: Node, host: str) -> processes.Worker:
        """The worker that stands for a node of an embedded cluster."""
        cores = None if node.name in self.without_quota else self.cores_per_slot
        return processes.Worker(
            node.name,
            host,
            node.slots,
            # Cores limit what fits; memory must not do so a second time.
            node.slots * (self.slot_memory_mb + 1024),
            None if cores is None else cores * node.speed,
        )


@contextmanager
def embedded(
    cluster: model.Cluster,
    *,
    threads_per_slot: int,
    slot_memory_mb: int = 512,
    cores_per_slot: float | None = None,
    without_quota: Collection[str] = (),
    conf: Mapping[str, str] | None = None,
    port: int | None = None,
) -> Iterator[SparkCluster]:
    """A cluster of our own, `prepared` and `started`."""
    with (
        prepared(
            cluster,
            threads_per_slot=threads_per_slot,
            slot_memory_mb=slot_memory_mb,
            cores_per_slot=cores_per_slot,
            without_quota=without_quota,
            conf=conf,
        ) as made,
        started(made, port) as running,
    ):
        yield running


@contextmanager
def prepared(
    cluster: model.Cluster,
    *,
    threads_per_slot: int,
    slot_memory_mb: int = 512,
    cores_per_slot: float | None = None,
    without_quota: Collection[str] = (),
    conf: Mapping[str, str] | None = None,
) -> Iterator[SparkCluster]:
    """A cluster of our own to be `started`: its folder and CPU quota, without any process.

    `threads_per_slot`: give the number of all threads, so that any living executor can take over
    those of dead ones. `cores_per_slot`: a CPU quota per slot by cgroup, times the node's speed;
    refused where cgroups are not writable. `without_quota`: the nodes whose slots have none.
    `conf`: the session's; master and workers get its settings of authentication and encryption.

    Its files are removed at the end of the `with` block. When this program is killed, the next
    cluster removes them.
    """
    check(cluster, slot_memory_mb, cores_per_slot)
    quota = None if cores_per_slot is None else quotas.quota()
    try:
        with passing_folder() as folder:
            yield SparkCluster(
                cluster,
                threads_per_slot,
                slot_memory_mb,
                slot_hosts=tuple(worker_host(int(node)) for node in cluster.slot_node),
                folder=folder,
                quota=quota,
                cores_per_slot=cores_per_slot,
                without_quota=frozenset(without_quota),
                conf=of_daemons(conf or {}),
            )
    finally:
        if quota:
            quota.remove()


@contextmanager
def started(cluster: SparkCluster, port: int | None = None) -> Iterator[SparkCluster]:
    """With its master on 127.0.0.1 and one worker per node on 127.0.0.11, .12, …; an existing
    master as it is.

    `port`: the master's; a free one if None. The processes end with the `with` block; when this
    program is killed, they end by themselves.
    """
    if cluster.folder is None:
        yield cluster
        return
    master_port = processes.free_port(MASTER_HOST) if port is None else port
    processes.check_free(MASTER_HOST, master_port)
    workers = [
        cluster.worker(node, worker_host(position))
        for position, node in enumerate(cluster.model.nodes)
    ]
    with processes.running(
        cluster.folder, MASTER_HOST, master_port, workers, cluster.conf
    ) as daemons:
        yield replace(cluster, master=f"spark://{MASTER_HOST}:{master_port}", daemons=daemons)


def check(cluster: model.Cluster, slot_memory_mb: int, cores_per_slot: float | None = None) -> None:
    """Raise SlotwiseError, with one sentence, for an embedded cluster that cannot start here."""
    java.check()
    if len(cluster.nodes) > MOST_NODES:
        raise SlotwiseError(
            f"an embedded cluster has at most {MOST_NODES} nodes, not {len(cluster.nodes)}"
        )
    if cores_per_slot is not None and not 0 < cores_per_slot < math.inf:
        raise SlotwiseError("--cores-per-slot must be greater than 0")
    if slot_memory_mb < LEAST_SLOT_MB:
        raise SlotwiseError(
            f"--slot-memory-mb must be at least {LEAST_SLOT_MB}: Spark's executors do not start "
            f"with {slot_memory_mb} MB"
        )
    check_memory(cluster.nodes, slot_memory_mb)


def existing(
    master: str, cluster: model.Cluster, *, threads_per_slot: int, slot_memory_mb: int = 512
) -> SparkCluster:
    """The cluster of this master, such as `spark://host:port`; refused as by `masters.check`."""
    masters.check(master)
    return SparkCluster(cluster, threads_per_slot, slot_memory_mb, master=master)


def worker_host(node: int) -> str:
    """The loopback address of the embedded worker of a node."""
    return f"127.0.0.{FIRST_WORKER + node}"


def has_memory(cluster: model.Cluster, slot_memory_mb: int) -> bool:
    """Whether there is enough free memory for an embedded cluster."""
    return _needed_mb(cluster.nodes, slot_memory_mb) <= _available_mb()


def check_memory(nodes: Sequence[Node], slot_memory_mb: int) -> None:
    """Raise SlotwiseError, with one sentence, if these nodes cannot be started here now."""
    needed, available = _needed_mb(nodes, slot_memory_mb), _available_mb()
    if needed > available:
        slots = sum(node.slots for node in nodes)
        raise SlotwiseError(
            f"{counted(slots, 'slot')} of {slot_memory_mb} MB on {counted(len(nodes), 'node')} "
            f"need {needed:,.0f} MB of memory, and {available:,.0f} MB are free: "
            "use fewer or smaller slots, or a smaller --scale"
        )


def _needed_mb(nodes: Sequence[Node], slot_memory_mb: int) -> float:
    """With the daemons of the nodes, and one for the master."""
    slots = sum(node.slots for node in nodes)
    return slots * slot_memory_mb / HEAP_SHARE + (len(nodes) + 1) * DAEMON_MB


def _available_mb() -> float:
    import psutil

    return float(psutil.virtual_memory().available / 2**20)
