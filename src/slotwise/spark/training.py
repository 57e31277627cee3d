"""A program that has Java archive the classes that runs need.

    python -m slotwise.spark.training FILE

A query as runs have it goes through one session, in one process; what only the other processes of a
cluster load is named. See `archive`.
"""

from __future__ import annotations

import shlex
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import slotwise
from slotwise.model import SlotwiseError
from slotwise.spark import java
from slotwise.spark.archive import QUIET
from slotwise.spark.cluster import local
from slotwise.spark.compile import compile
from slotwise.spark.daemons import DRIVER_LOGGING, QUICK_START
from slotwise.spark.folders import passing_folder
from slotwise.spark.launch import Options, writer
from slotwise.spark.outline import outline
from slotwise.spec import loads

SPEC = """
topology:
  name: training
  operators:
    lines: {kind: source, options: {payload: words(5)}}
    split: {expr: "split(value, ' ')", flat: true}
    wait: {}
    count: {aggregate: {by: value, n: count(*)}}
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
POLL_SECONDS = 0.1


def main(archive: Path) -> None:
    of = outline(slotwise.plan(loads(SPEC)))
    java_options = [DRIVER_LOGGING, *QUICK_START, f"-XX:ArchiveClassesAtExit={archive}", *QUIET]
    conf = {
        "spark.driver.extraJavaOptions": shlex.join(java_options),
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
        "spark.sql.shuffle.partitions": "1",
    }
    with local(conf, cores=sum(of.layout.partitions)) as spark, passing_folder() as folder:
        run_options = Options(folder / "checkpoint", batch_seconds=1, output=folder / "output")
        query = writer(spark, compile(spark, of), run_options).start()
        while query.lastProgress is None:
            if (failed := query.exception()) is not None:
                raise SlotwiseError(str(failed).splitlines()[0])
            time.sleep(POLL_SECONDS)
        query.stop()
        gateway: Any = spark.sparkContext._gateway
        for name in (*OTHER_PROCESSES, *_our_classes()):
            gateway.jvm.java.lang.Class.forName(name)
    gateway.shutdown()
    # The end of its input ends the process; it writes the archive then.
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _our_classes() -> list[str]:
    with zipfile.ZipFile(java.classpath_jar()) as jar:
        files = [name for name in jar.namelist() if name.endswith(".class")]
    return [name.removesuffix(".class").replace("/", ".") for name in files]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
