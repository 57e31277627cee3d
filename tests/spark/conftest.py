"""One embedded cluster and one session for all tests that need Spark."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slotwise.clock import await_condition
from slotwise.model import Cluster, Node

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.spark import cluster as spark_cluster
from slotwise.spark.cluster import java, scheduler
from slotwise.spark.cluster.machines import machines_of
from tests.spark import maven
from tests.spark.broker import Broker
from tests.spark.broker import running as running_broker

THREADS_PER_SLOT = 64
MODEL = Cluster((Node("left", 2, 2.0), Node("right", 1, 1.0)), slot_memory_gb=1.0)
"""Slots 0 and 1 on one node, slot 2 on another."""


@pytest.fixture(scope="session")
def embedded() -> Iterator[spark_cluster.SparkCluster]:
    with spark_cluster.embedded(MODEL, threads_per_slot=THREADS_PER_SLOT) as made:
        yield made


@pytest.fixture(scope="session")
def spark(embedded: spark_cluster.SparkCluster) -> Iterator[SparkSession]:
    conf = {"spark.sql.shuffle.partitions": "2", "spark.jars": ",".join(map(str, _jars()))}
    made = spark_cluster.session(embedded, conf)
    yield made
    made.stop()


@pytest.fixture
def elastic(
    spark: SparkSession, embedded: spark_cluster.SparkCluster
) -> Iterator[spark_cluster.Machines]:
    """The machines of the shared session; as they were, at the end."""
    made = machines_of(spark, embedded, embedded.slot_hosts)
    yield made
    made.add(MODEL, await_condition)
    scheduler(spark).setSlots(",".join(made.hosts(MODEL)))
    made.keep(MODEL)


def _jars() -> list[Path]:
    """Ours, and the connector to Kafka: a driver has its jars from its start on. Where Maven does
    not find it, the tests that need it say so.
    """
    try:
        found = sorted(maven.connector().glob("*.jar"))
    except (AssertionError, OSError, subprocess.SubprocessError):
        found = []
    return [java.classpath_jar(), *found]


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    maven.connector()
    with running_broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


def wait_until(what: Callable[[], Any], seconds: float = 60, query: Any = None) -> Any:
    """What `what` gives as soon as that is true; fails after `seconds`, or when the query does."""
    found = None

    def is_there() -> bool:
        nonlocal found
        found = what()
        if not found and query is not None and query.exception() is not None:
            raise AssertionError(str(query.exception()))
        return bool(found)

    assert await_condition(is_there, seconds), f"did not happen in {seconds} s"
    return found
