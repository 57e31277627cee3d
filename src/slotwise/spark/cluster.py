"""Where a plan runs: a cluster of our own on this machine, or an existing standalone master."""

from __future__ import annotations

import json
import math
import os
import shlex
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise import model
from slotwise.model import SlotwiseError
from slotwise.spark import archive, cgroups, daemons, java
from slotwise.spark.folders import passing_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER_HOST = "127.0.0.1"
FIRST_WORKER = 11
"""Worker n listens on 127.0.0.(11 + n), so that Spark takes the nodes for different hosts."""
DAEMON_MB = 200
LEAST_SLOT_MB = 470
"""Executors refuse to start with a heap of less than 450 MB, and of these Java keeps a part."""
POLL_SECONDS = 0.1
HEAP_SHARE = 0.8
"""A Java process takes more than its heap; this part of it is heap, seen on small executors."""


@dataclass(frozen=True)
class SparkCluster:
    """A standalone master, and how its executors are to stand for the slots of a model cluster."""

    master: str
    """`spark-placed://host:port`, for SparkSession.builder.master()."""
    model: model.Cluster
    threads_per_slot: int
    """Task slots of an executor: the most threads that a slot may hold, fall-backs included."""
    slot_memory_mb: int
    slot_hosts: tuple[str, ...] = ()
    """Per slot, the address of its worker; empty: matched to what an existing master gives."""
    pids: tuple[int, ...] = ()
    """Process ids of the master and the workers, in this order, if they are ours."""
    folder: Path | None = None
    """Logs, work and shuffle files, gone when the cluster ends, if it is ours."""
    quota: cgroups.Quota | None = None

    @property
    def is_embedded(self) -> bool:
        return bool(self.pids)


@contextmanager
def embedded(
    cluster: model.Cluster,
    *,
    threads_per_slot: int,
    slot_memory_mb: int = 512,
    cores_per_slot: float | None = None,
    port: int | None = None,
) -> Iterator[SparkCluster]:
    """A master on 127.0.0.1 and one worker per node on 127.0.0.11, .12, …; one executor per slot.

    `threads_per_slot`: give the number of all threads, so that any living executor can take over
    those of dead ones. `cores_per_slot`: a CPU quota per slot by cgroup, times the node's speed;
    refused where cgroups cannot be written. `port`: the master's; a free one if None.

    All processes and files end with the `with` block. When this program is killed, the processes
    end by themselves, and the next cluster removes the files.
    """
    check(cluster, slot_memory_mb, cores_per_slot)
    quota = None if cores_per_slot is None else cgroups.quota(cores_per_slot, _speeds(cluster))
    try:
        with passing_folder() as folder:
            master_port = daemons.free_port(MASTER_HOST) if port is None else port
            daemons.check_free(MASTER_HOST, master_port)
            workers = [
                daemons.Worker(
                    node.name,
                    worker_host(position),
                    node.slots * threads_per_slot,
                    # Cores limit what fits; memory must not do so a second time.
                    node.slots * (slot_memory_mb + 1024),
                )
                for position, node in enumerate(cluster.nodes)
            ]
            with daemons.running(folder, MASTER_HOST, master_port, workers) as pids:
                yield SparkCluster(
                    f"spark-placed://{MASTER_HOST}:{master_port}",
                    cluster,
                    threads_per_slot,
                    slot_memory_mb,
                    tuple(worker_host(int(node)) for node in cluster.slot_node),
                    pids,
                    folder,
                    quota,
                )
    finally:
        if quota:
            quota.remove()


def check(cluster: model.Cluster, slot_memory_mb: int, cores_per_slot: float | None = None) -> None:
    """Raise SlotwiseError, with one sentence, for an embedded cluster that cannot start here."""
    java.check()
    most = 255 - FIRST_WORKER
    if len(cluster.nodes) > most:
        raise SlotwiseError(
            f"an embedded cluster has at most {most} nodes, not {len(cluster.nodes)}"
        )
    if cores_per_slot is not None and not 0 < cores_per_slot < math.inf:
        raise SlotwiseError(f"a CPU quota of {cores_per_slot:g} cores per slot is none: give more")
    if slot_memory_mb < LEAST_SLOT_MB:
        raise SlotwiseError(
            f"{slot_memory_mb} MB are too little for a slot: Spark's executors need at least "
            f"{LEAST_SLOT_MB} MB"
        )
    _check_memory(cluster, slot_memory_mb)


def existing(
    master_url: str, cluster: model.Cluster, *, threads_per_slot: int, slot_memory_mb: int = 512
) -> SparkCluster:
    """The standalone master at `spark://host:port`; refused if nobody answers there."""
    check_master(master_url)
    address = master_url.removeprefix("spark://")
    return SparkCluster(f"spark-placed://{address}", cluster, threads_per_slot, slot_memory_mb)


def check_master(url: str) -> None:
    """Raise SlotwiseError, with one sentence, unless a session can be made at this master."""
    host, _, port = url.removeprefix("spark://").rpartition(":")
    if not (url.startswith("spark://") and host and port.isdigit()):
        raise SlotwiseError(f"'{url}' is no master: write spark://host:port")
    java.check()
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as failed:
        reason = failed.strerror if isinstance(failed, OSError) else failed
        raise SlotwiseError(f"no master answers at {url}: {reason or failed}") from failed


@dataclass(frozen=True)
class SlotExecutor:
    """The living executor that stands for a slot."""

    slot: int
    host: str
    executor: str
    """Spark's executor id."""


def session(
    cluster: SparkCluster,
    conf: Mapping[str, str] | None = None,
    *,
    name: str = "slotwise",
    meters: bool = True,
    timeout_seconds: float = 60,
) -> SparkSession:
    """A session on `cluster` with every slot bound to a living executor, functions registered.

    `conf` adds to the settings or replaces them. Raises SlotwiseError with the numbers when the
    master gives fewer executors than there are slots; then no session is left.
    """
    from pyspark.sql import SparkSession

    _check_gateway()
    settings: dict[str, Any] = {**_settings(cluster, name, meters), **(conf or {})}
    if cluster.is_embedded:
        os.environ.setdefault("SPARK_LOCAL_IP", MASTER_HOST)
        # Python workers on this machine have the packages that this program has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.config(map=settings).getOrCreate()
    try:
        executors = _await_executors(spark, cluster, timeout_seconds)
        hosts = cluster.slot_hosts or _matched_hosts(cluster.model, executors)
        scheduler(spark).setSlots(",".join(hosts))
    except BaseException:
        spark.stop()
        raise
    return spark


@contextmanager
def local(
    conf: Mapping[str, str] | None = None, *, cores: int = 1, embedded: bool = True
) -> Iterator[SparkSession]:
    """A session within the driver's own process, functions registered, nothing placed.

    `conf` adds to the settings or replaces them. `embedded`: the kind of cluster that the next
    session of this program is for.
    """
    from pyspark.sql import SparkSession

    java.check()
    settings: dict[str, Any] = {
        **_driver_settings(embedded),
        "spark.master": f"local[{cores}]",
        "spark.app.name": "slotwise",
        "spark.driver.host": MASTER_HOST,
        "spark.driver.bindAddress": MASTER_HOST,
        **(conf or {}),
    }
    spark = SparkSession.builder.config(map=settings).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def slots(spark: SparkSession) -> tuple[SlotExecutor | None, ...]:
    """Per slot of the session's cluster, its executor now; None while it has none."""
    hosts = json.loads(scheduler(spark).executors())
    bound = json.loads(scheduler(spark).slotExecutors())
    return tuple(
        SlotExecutor(slot, hosts[executor], executor) if executor in hosts else None
        for slot, executor in enumerate(bound)
    )


def scheduler(spark: SparkSession) -> Any:
    """The PlacedScheduler (jvm/…/PlacedScheduler.java) of a session made here."""
    found = spark.sparkContext._jsc.sc().taskScheduler()
    if not found.getClass().getName().endswith("PlacedScheduler"):
        raise SlotwiseError("this Spark session was not made by slotwise.spark.cluster.session")
    return found


def _settings(cluster: SparkCluster, name: str, meters: bool) -> dict[str, str]:
    made = {
        **_driver_settings(cluster.is_embedded),
        "spark.master": cluster.master,
        "spark.app.name": name,
        "spark.ui.showConsoleProgress": "false",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.executor.cores": str(cluster.threads_per_slot),
        "spark.executor.memory": f"{cluster.slot_memory_mb}m",
        "spark.cores.max": str(cluster.model.slots * cluster.threads_per_slot),
        # A pinned task waits for its executor while that lives, and for nothing else.
        "spark.locality.wait.process": "600s",
        "spark.locality.wait.node": "0s",
        "spark.locality.wait.rack": "0s",
        # Real-time mode runs all stages at once; the planner has admitted the query already.
        "spark.scheduler.pipelinedGroup.slotCheck.enabled": "false",
        "spark.dynamicAllocation.enabled": "false",
        # What batches have broadcast goes when Java collects garbage; a quiet driver seldom does.
        "spark.cleaner.periodicGC.interval": "1min",
        "spark.speculation": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
        # The wait per shuffle for a buffer to fill: most of a tuple's latency.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "5",
        **(cluster.quota.conf if cluster.quota else {}),
    }
    if meters or cluster.quota:  # the plugin does both
        made["spark.plugins"] = "org.slotwise.meters.MetersPlugin"
        made["spark.slotwise.meters"] = str(meters).lower()
    if cluster.is_embedded:
        made |= {"spark.driver.host": MASTER_HOST, "spark.driver.bindAddress": MASTER_HOST}
        made |= {"spark.local.dir": str(cluster.folder)}
        made |= {"spark.executor.extraClassPath": str(java.classpath_jar())}
        made |= {"spark.executor.extraJavaOptions": shlex.join(_executor_options(cluster))}
    return made


def _executor_options(cluster: SparkCluster) -> list[str]:
    # Libraries that a killed executor has unpacked go with the cluster's folder.
    files = f"-Djava.io.tmpdir={cluster.folder}"
    return [daemons.LOGGING, files, *daemons.HOT_CODE_ONLY, *archive.options()]


def _driver_settings(embedded: bool) -> dict[str, str]:
    """Of every session: the driver's Java is one from a program's first session to its last."""
    jar = str(java.classpath_jar())
    quick_start = daemons.QUICK_START if embedded else ()
    options = [daemons.DRIVER_LOGGING, *quick_start, *archive.options()]
    return {
        "spark.ui.enabled": "false",
        "spark.jars": jar,
        "spark.driver.extraClassPath": jar,
        "spark.driver.extraJavaOptions": shlex.join(options),
        "spark.sql.extensions": "org.slotwise.Functions",
    }


def _check_gateway() -> None:
    """A driver JVM takes its class path at its start: one that others started has not our jar."""
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        raise SlotwiseError("a Spark session is running in this program already: stop it first")
    jvm = SparkContext._jvm
    if jvm is not None:
        paths = jvm.java.lang.System.getProperty("java.class.path").split(os.pathsep)
        if str(java.classpath_jar()) not in paths:
            raise SlotwiseError(
                "this program has used Spark before without Slotwise's jar: start it anew"
            )


def _await_executors(
    spark: SparkSession, cluster: SparkCluster, timeout_seconds: float
) -> dict[str, str]:
    """Living executors and their hosts, as soon as there is one for each slot."""
    needed = cluster.model.slots
    end = time.monotonic() + timeout_seconds
    while len(found := json.loads(scheduler(spark).executors())) < needed:
        if time.monotonic() > end or spark.sparkContext._jsc.sc().isStopped():
            raise SlotwiseError(
                f"the plan needs {needed} executors of {cluster.threads_per_slot} threads and "
                f"{cluster.slot_memory_mb} MB, and {cluster.master.partition('//')[2]} gave "
                f"{len(found)} in {timeout_seconds:g} s"
            )
        time.sleep(POLL_SECONDS)
    return dict(found)


def _matched_hosts(cluster: model.Cluster, executors: Mapping[str, str]) -> tuple[str, ...]:
    """The host of each slot: the node with most slots goes to the host with most executors, and
    so on; refused if one is too small for its node.
    """
    nodes = sorted(range(len(cluster.nodes)), key=lambda n: (-cluster.nodes[n].slots, n))
    hosts = sorted(Counter(executors.values()).items(), key=lambda item: (-item[1], item[0]))
    host_of = {}
    for rank, node in enumerate(nodes):
        host, count = hosts[rank] if rank < len(hosts) else ("no host", 0)
        if count < cluster.nodes[node].slots:
            raise SlotwiseError(
                f"node '{cluster.nodes[node].name}' has {cluster.nodes[node].slots} slots, and "
                f"{host}, the best host left, has {count} executors "
                f"({len(executors)} on {len(hosts)} hosts)"
            )
        host_of[node] = host
    return tuple(host_of[int(node)] for node in cluster.slot_node)


def worker_host(node: int) -> str:
    """The loopback address of the embedded worker of a node."""
    return f"127.0.0.{FIRST_WORKER + node}"


def _speeds(cluster: model.Cluster) -> dict[str, float]:
    return {worker_host(position): node.speed for position, node in enumerate(cluster.nodes)}


def _check_memory(cluster: model.Cluster, slot_memory_mb: int) -> None:
    import psutil

    needed = cluster.slots * slot_memory_mb / HEAP_SHARE + (len(cluster.nodes) + 1) * DAEMON_MB
    available = psutil.virtual_memory().available / 2**20
    if needed > available:
        raise SlotwiseError(
            f"{cluster.slots} slots of {slot_memory_mb} MB on {len(cluster.nodes)} nodes need "
            f"{needed:,.0f} MB of memory and {available:,.0f} MB are free: "
            "take fewer slots or give each less"
        )
