"""A program with an embedded cluster, to be interrupted and killed by test_cluster.py.

`python -m tests.spark.program ACT`: prints one line of JSON when it is ready, then waits.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from slotwise.model import Cluster, Node, SlotwiseError
from slotwise.spark import cluster
from slotwise.spark.cluster import pinning, quotas
from tests.spark.conftest import wait_until
from tests.spark.queries import MICRO_BATCH, running, three_levels

TWO_NODES = Cluster((Node("left", 1, 1.0), Node("right", 1, 1.0, speed=2.0)), slot_memory_gb=1.0)
THREE_SLOTS = Cluster((Node("left", 1, 1.0), Node("right", 2, 2.0)), slot_memory_gb=1.0)
RECORDS = 3000


def lose_a_worker() -> None:
    """Threads of a node that is gone run on the other one, and nothing is lost."""
    permitted = _permits_quota()
    with cluster.embedded(
        TWO_NODES, threads_per_slot=16, cores_per_slot=0.8 if permitted else None
    ) as made:
        spark = cluster.session(made)
        # An executor is known before it has entered its group.
        quotas = wait_until(lambda: _quotas(made)) if permitted else None
        pinning.place(spark, "orphan", [[1], [1] * 4, [1] * 2])
        frame = three_levels(spark, rate=1000, records=RECORDS)
        with (
            tempfile.TemporaryDirectory() as folder,
            running(frame, "orphan", Path(folder), MICRO_BATCH) as orphan,
        ):
            wait_until(lambda: orphan.ids, query=orphan.query)
            before = _everyone()
            os.kill(made.pids[2], signal.SIGKILL)
            wait_until(lambda: len(orphan.ids) >= RECORDS, 90, orphan.query)
            complete = sorted(orphan.ids) == list(range(RECORDS))
            seen = pinning.where(spark, "orphan")
        told: dict[str, Any] = {
            "pids": sorted({*before, *_everyone()}),
            "complete": complete,
            "slots": sorted({task.slot for task in seen.tasks}),
            "reasons": sorted({fall_back.reason for fall_back in seen.fall_backs}),
            "quotas": quotas,
            "folder": str(made.folder),
        }
        _wait(told)


def share_a_master() -> None:
    """The master of an embedded cluster, used as one that exists already; it asks for a secret."""
    secret = {"spark.authenticate": "true", "spark.authenticate.secret": "of the tests"}
    conf = {**secret, "spark.network.crypto.enabled": "true"}
    with cluster.embedded(THREE_SLOTS, threads_per_slot=2, conf=conf) as made:
        url = made.master
        assert url is not None
        intruder = _refusal(lambda: cluster.session(existing(url, THREE_SLOTS)))
        more = Cluster((Node("one", 2, 1.0), Node("two", 2, 1.0)), slot_memory_gb=1.0)
        refusal = _refusal(lambda: cluster.session(existing(url, more), conf))
        turned = Cluster(tuple(reversed(THREE_SLOTS.nodes)), slot_memory_gb=1.0)
        spark = cluster.session(existing(url, turned), conf)
        hosts = [slot.host if slot else None for slot in cluster.slots(spark)]
        told = {"pids": _everyone(), "refusal": refusal, "intruder": intruder, "hosts": hosts}
        _wait({**told, "url": url, "folder": str(made.folder)})


def existing(url: str, of: Cluster) -> cluster.SparkCluster:
    return cluster.existing(url, of, threads_per_slot=2)


def _refusal(made: Callable[[], object]) -> str:
    try:
        made()
    except SlotwiseError as refused:
        return str(refused)
    return ""


def _executors(made: cluster.SparkCluster) -> list[int]:
    workers = [psutil.Process(pid) for pid in made.pids[1:]]
    return [child.pid for worker in workers for child in worker.children(recursive=True)]


def _everyone() -> list[int]:
    return sorted(child.pid for child in psutil.Process().children(recursive=True))


def _permits_quota() -> bool:
    try:
        quotas.quota().remove()
    except SlotwiseError:
        return False
    return True


def _quotas(made: cluster.SparkCluster) -> list[float]:
    """Of all executors; empty while one has none."""
    found = [_quota(pid) for pid in _executors(made)]
    return found if all(cores > 0 for cores in found) else []


def _quota(pid: int) -> float:
    """Cores that a process may use."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            group = quotas.ROOT / "cpu" / path.lstrip("/")
            quota, period = (group / f"cpu.cfs_{n}_us" for n in ("quota", "period"))
            return int(quota.read_text()) / int(period.read_text())
        if not controllers and (quotas.ROOT / path.lstrip("/") / "cpu.max").exists():
            given, period_us = (quotas.ROOT / path.lstrip("/") / "cpu.max").read_text().split()
            return int(given) / int(period_us)
    raise AssertionError("the process is in no group")


def _wait(told: dict[str, Any]) -> None:
    print(json.dumps(told), flush=True)
    time.sleep(600)


if __name__ == "__main__":
    acts = {"lose-a-worker": lose_a_worker, "share-a-master": share_a_master}
    acts[sys.argv[1]]()
