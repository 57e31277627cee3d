"""A program that has Java archive the classes that runs need.

    python -m slotwise.spark.cluster.training FILE

One session in one process runs a query as runs have it; the classes that only the other processes
of a cluster load are named. See `class_archive`.
"""

from __future__ import annotations

import math
import shlex
import sys
import zipfile
from pathlib import Path
from typing import Any

import slotwise
from slotwise.clock import await_condition
from slotwise.model import SlotwiseError
from slotwise.spark.cluster import java, local
from slotwise.spark.cluster.class_archive import QUIET
from slotwise.spark.cluster.folders import passing_folder
from slotwise.spark.cluster.gateway import end_java
from slotwise.spark.query.compile import compile
from slotwise.spark.query.outline import outline
from slotwise.spark.query.sinks import writer
from slotwise.spec import loads

SPEC = """
topology:
  name: training
  operators:
    lines: {kind: source, options: {payload: words(5)}}
    split: {expr: "split(value, ' ')", flat: true}
    wait: {}
    count: {aggregate: {by: value, n: count(*), key_groups: 1}}
    sink: {kind: sink}
  streams:
    - {from: lines, to: split}
    - {from: split, to: wait, selectivity: 5}
    - {from: wait, to: count, grouping: {fields: value}}
    - {from: count, to: sink}
profiles:
  lines: {fixed: {cpu: 0.1}}
  split: {service: {rate: 1000, cpu: 0.1}}
  wait: {service: {rate: 1000, cpu: 0.1}}
  count: {service: {rate: 1000, cpu: 0.1}}
  sink: {fixed: {cpu: 0.1}}
cluster:
  - {name: here, slots: 2, memory_gb: 2}
goals: {rate: 50}
"""
OTHER_PROCESSES = (
    "org.apache.spark.deploy.master.Master",
    "org.apache.spark.deploy.worker.Worker",
    "org.apache.spark.deploy.worker.ExecutorRunner",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
)


def main(archive: Path) -> None:
    of = outline(slotwise.plan(loads(SPEC)))
    java_options = [f"-XX:ArchiveClassesAtExit={archive}", *QUIET]
    conf = {
        "spark.driver.extraJavaOptions": shlex.join(java_options),
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
        "spark.sql.shuffle.partitions": "1",
    }
    cores = sum(of.layout.partitions)
    with local(conf, cores=cores, archived=False) as spark, passing_folder() as folder:
        query = writer(compile(spark, of), folder / "checkpoint", 1, folder / "output").start()
        await_condition(lambda: _has_finished_a_batch(query), math.inf)
        query.stop()
        gateway: Any = spark.sparkContext._gateway
        for name in (*OTHER_PROCESSES, *_our_classes()):
            gateway.jvm.java.lang.Class.forName(name)
    # Java writes the archive when it ends, which takes a while; `class_archive` has the limit.
    end_java(gateway)


def _has_finished_a_batch(query: Any) -> bool:
    if (failed := query.exception()) is not None:
        raise SlotwiseError(str(failed).splitlines()[0])
    return query.lastProgress is not None


def _our_classes() -> list[str]:
    with zipfile.ZipFile(java.classpath_jar()) as jar:
        files = [name for name in jar.namelist() if name.endswith(".class")]
    return [name.removesuffix(".class").replace("/", ".") for name in files]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
