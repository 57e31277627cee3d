"""A program with a run on YARN, of which an executor is killed; for test_yarn.py.

`python -m tests.spark.on_yarn` prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from slotwise.model import Cluster, Node
from slotwise.spark import cluster
from slotwise.spark.cluster import Site, java
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options
from slotwise.spark.start_up import Timeline, launched
from tests.spark import yarn
from tests.spark.conftest import wait_until
from tests.spark.losing import lose_executor, places
from tests.spark.plans import plan, topology
from tests.spark.running import written

THREE_SLOTS = Cluster((Node("left", 1, 1.0), Node("right", 2, 2.0)), slot_memory_gb=1.0)
QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


def main() -> None:
    of = plan(topology("s>a", "a>b", "b>k"), {"a": 3, "b": 2}, on=THREE_SLOTS, rate=200.0)
    times = Timeline()
    with tempfile.TemporaryDirectory() as name, yarn.running(Path(name)) as settings:
        os.environ |= {"HADOOP_CONF_DIR": str(settings), "SPARK_LOCAL_IP": yarn.HOST}
        folder = Path(name)
        options = Options(folder / "checkpoint", batch_seconds=2, output=folder / "out")
        site = Site("yarn", conf=_conf(folder))
        with launched(outline(of), options, site=site, timeline=times) as run:
            hosts = [slot.host if slot else None for slot in cluster.slots(run.spark)]
            placed = places(run)
            lose_executor(run, lambda: os.kill(next(_containers()), signal.SIGKILL))
            told = {"hosts": hosts, "placed": placed, "after": places(run)}
        ids = sorted(row["id"] for row in written(folder))
        told["complete"] = bool(ids) and ids == list(range(len(ids)))
        wait_until(lambda: not list(_containers()))  # YARN ends them after the run
    print(json.dumps({**told, "start_up": times.steps}))


def _conf(folder: Path) -> dict[str, str]:
    return {
        "spark.authenticate": "true",
        "spark.yarn.jars": f"local:{java.spark_home()}/jars/*",
        "spark.yarn.stagingDir": str(folder),
        "spark.yarn.am.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
    }


def _containers() -> Iterator[int]:
    """The executors' processes among those that this program has started."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            line = child.cmdline()
            if "java" in line[0] and any("YarnCoarseGrainedExecutorBackend" in a for a in line):
                yield child.pid


if __name__ == "__main__":
    main()
