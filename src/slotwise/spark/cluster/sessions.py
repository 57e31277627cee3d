"""Spark sessions on a cluster, and the settings that they share."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import class_archive, gateway, java, masters, processes
from slotwise.spark.cluster.conf import AT_LAUNCH, joined
from slotwise.spark.cluster.connecting import connect
from slotwise.spark.cluster.executors import task_cpus
from slotwise.spark.cluster.standalone import MASTER_HOST, SparkCluster
from slotwise.spark.cluster.workers import silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FUNCTIONS = "org.slotwise.Functions"

GIVEN = "slotwise.settings"
"""A property of the driver's Java: the names of the settings that it was started with."""
JARS = "slotwise.jars"
"""Another one: the jars that it was started with, as they were given."""


def session(
    cluster: SparkCluster,
    conf: Mapping[str, str] | None = None,
    *,
    name: str = "slotwise",
    meters: bool = True,
    timeout_s: float = 60,
) -> SparkSession:
    """A `driver`, `connected` to `cluster`. If that fails, no session is left."""
    spark = driver(cluster, conf, name=name, meters=meters)
    try:
        connect(spark, cluster, timeout_s)
    except BaseException:
        spark.stop()
        raise
    return spark


def driver(
    cluster: SparkCluster,
    conf: Mapping[str, str] | None = None,
    *,
    name: str = "slotwise",
    meters: bool = True,
) -> SparkSession:
    """A session for `cluster`, functions registered, without executors: it can analyse queries, and
    run them once it is connected. `conf` adds to the settings or replaces them; see `joined`.

    Raises SlotwiseError for what Spark refuses, such as an event log in a missing folder.
    """
    if cluster.is_embedded:
        os.environ.setdefault("SPARK_LOCAL_IP", MASTER_HOST)
        # Python workers on this machine have the packages that this program has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = joined(settings(cluster, name, meters), conf or {})
    return _made(chosen | masters.authentication(cluster.master, chosen), cluster.master)


def _made(chosen: dict[str, str], master: str | None = None) -> SparkSession:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from slotwise.spark.query.expressions import first_sentence

    _take_gateway(chosen)
    try:
        everything: dict[str, Any] = {**chosen}
        made: SparkSession = SparkSession.builder.config(map=everything).getOrCreate()
    except (Py4JJavaError, PySparkException) as error:
        told = silent(master, error) if master and isinstance(error, Py4JJavaError) else None
        raise SlotwiseError(
            told or f"Spark's driver does not start: {first_sentence(error)}"
        ) from None
    jvm: Any = made.sparkContext._jvm
    system = jvm.java.lang.System
    if system.getProperty(GIVEN) is None:
        system.setProperty(GIVEN, ",".join(chosen))
        system.setProperty(JARS, chosen["spark.jars"])
    return made


@contextmanager
def local(
    conf: Mapping[str, str] | None = None, *, cores: int = 1, archived: bool = True
) -> Iterator[SparkSession]:
    """A session whose tasks run in the driver's own process, functions registered, nothing placed.

    `conf` adds to the settings or replaces them; see `joined`. `archived`: with the class archive.
    """
    java.check()
    ours: dict[str, str] = {
        **_driver_settings(embedded=True, archived=archived),
        "spark.plugins": "",
        "spark.master": f"local[{cores}]",
        "spark.app.name": "slotwise",
        "spark.driver.host": MASTER_HOST,
        "spark.driver.bindAddress": MASTER_HOST,
    }
    spark = _made(joined(ours, conf or {}))
    try:
        yield spark
    finally:
        spark.stop()


def settings(cluster: SparkCluster, name: str, meters: bool = True) -> dict[str, str]:
    """Of a session on `cluster`, without those of its pipeline."""
    made = {
        **_driver_settings(cluster.is_embedded),
        "spark.master": masters.url(cluster.master),
        "spark.app.name": name,
        "spark.ui.showConsoleProgress": "false",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        # A slot is an executor of one core, whatever the number of its threads.
        "spark.executor.cores": "1",
        "spark.task.cpus": task_cpus(cluster.threads_per_slot),
        # By default Spark divides an executor's memory by its cores, not by its tasks.
        "spark.buffer.pageSize": "1m",
        "spark.executor.memory": f"{cluster.slot_memory_mb}m",
        # The number of executors is the limit, and it may change while the master's would not.
        "spark.cores.max": str(2**31 - 1),
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
        # Several aggregates in one query: Spark's doubt is about watermarks, which there are none.
        "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
        # A count for display only, for which every update of an aggregate reads its key first.
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        # The wait per shuffle for a buffer to fill: most of a tuple's latency.
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "5",
        **(cluster.quota.conf if cluster.quota else {"spark.slotwise.cgroup": ""}),
    }
    if cluster.master is not None:
        made["spark.slotwise.master"] = cluster.master  # see jvm/…/LateBackend.java
        made |= masters.settings(cluster.master, cluster.model.slots)
    if meters or cluster.quota:  # the plugin does both
        made["spark.plugins"] = "org.slotwise.meters.MetersPlugin"
        made["spark.slotwise.meters"] = str(meters).lower()
    if cluster.is_embedded:
        made |= {"spark.driver.host": MASTER_HOST, "spark.driver.bindAddress": MASTER_HOST}
        made |= {"spark.local.dir": str(cluster.folder)}
        # Files on this machine have a checksum of Hadoop's already; another one for each key group
        # takes half of the time between two batches.
        made |= {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"}
        made |= {"spark.executor.extraClassPath": str(java.classpath_jar())}
        made |= {"spark.executor.extraJavaOptions": shlex.join(_executor_options(cluster))}
    return made


def _executor_options(cluster: SparkCluster) -> list[str]:
    # Libraries that a killed executor has unpacked go with the cluster's folder.
    files = f"-Djava.io.tmpdir={cluster.folder}"
    return [processes.LOGGING, files, *processes.HOT_CODE_ONLY, *class_archive.options()]


def _driver_settings(embedded: bool, archived: bool = True) -> dict[str, str]:
    """Of every session."""
    jar = str(java.classpath_jar())
    quick_start = processes.QUICK_START if embedded else ()
    archive = class_archive.options() if archived else ()
    options = [processes.DRIVER_LOGGING, *quick_start, *archive]
    return {
        "spark.ui.enabled": "false",
        "spark.jars": jar,
        "spark.driver.extraClassPath": jar,
        "spark.driver.extraJavaOptions": shlex.join(options),
        "spark.sql.extensions": FUNCTIONS,
        # `${…}` in a name or a text stays what it is.
        "spark.sql.variable.substitute": "false",
    }


def has_functions(spark: SparkSession) -> bool:
    """Whether it knows slotwise's functions: a session that a user has made does not."""
    return FUNCTIONS in str(spark.conf.get("spark.sql.extensions", ""))


def _take_gateway(chosen: Mapping[str, str]) -> None:
    """A driver's Java takes its class path, its jars and its options at its start. One that was
    started with others, by a session that has ended since, is ended; Spark then starts another one.
    The other settings with which it was started are its properties, and would be those of every
    session.
    """
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        raise SlotwiseError("this program already has a Spark session: stop it first")
    jvm = SparkContext._jvm
    if jvm is None:
        return
    system = jvm.java.lang.System
    before = (system.getProperty(GIVEN) or "").split(",")
    at_launch = {name: name for name in AT_LAUNCH if name in chosen or name in before}
    at_launch["spark.jars"] = JARS  # Spark's own property has them as addresses
    if any(
        (system.getProperty(at) or "") != chosen.get(name, "") for name, at in at_launch.items()
    ):
        gateway.end_java(SparkContext._gateway)
        return
    for name in set(before) - set(chosen):
        system.clearProperty(name)
