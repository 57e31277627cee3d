"""A program that gives executors back to an existing master, and takes them again, while a query
runs; for test_adapting_on_spark.py. The master is that of an embedded cluster.

`python -m tests.spark.given_master` prints one line of JSON.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from slotwise.model import Cluster, Node
from slotwise.spark import cluster
from slotwise.spark.cluster import Machines
from slotwise.spark.waiting import await_batch, await_tuples
from tests.spark.conftest import wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

LARGE, SMALL = Node("large", 2, 2.0), Node("small", 1, 1.0)
WHOLE = Cluster((LARGE, SMALL), slot_memory_gb=1.0)
PART = Cluster((LARGE,), slot_memory_gb=1.0)


def main() -> None:
    with cluster.embedded(WHOLE, threads_per_slot=4) as made:
        assert made.master is not None
        given = cluster.existing(made.master, WHOLE, threads_per_slot=4)
        spark = cluster.driver(given)
        machines = cluster.connect(spark, given)
        with tempfile.TemporaryDirectory() as folder:
            living = on_fewer_and_on_all(spark, machines, Path(folder))
            ids = sorted(row["id"] for row in written(Path(folder)))
        spark.stop()
    print(json.dumps({"living": living, "complete": bool(ids) and ids == list(range(len(ids)))}))


def on_fewer_and_on_all(spark: SparkSession, machines: Machines, folder: Path) -> list[int]:
    """The executors that live at the start, on one node less, and on both again."""
    of = topology("s>a", "a>k")
    on_all = plan(of, {"a": 2}, on=WHOLE, rate=200.0, slots=[0, 1, 2, 2])
    on_fewer = plan(of, {"a": 1}, on=PART, rate=200.0, slots=[0, 1, 1])

    def living() -> int:
        return len(json.loads(cluster.scheduler(spark).executors()))

    seen = [living()]
    with running(spark, on_all, folder, machines=machines) as run:
        await_tuples(run)
        for wanted in (on_fewer, on_all):
            assert run.apply(wanted).how == "restart"
            wait_until(lambda slots=wanted.cluster.slots: living() == slots)
            seen.append(living())
        await_batch(run)
    return seen


if __name__ == "__main__":
    main()
