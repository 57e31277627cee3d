"""Where a plan runs: a cluster of our own on this machine, or an existing standalone master."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise import model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkCluster:
    """A standalone master and how its executors stand for the slots of a model cluster."""

    master: str
    """`spark-placed://host:port`, for SparkSession.builder.master()."""
    model: model.Cluster
    threads_per_slot: int
    """Task slots of an executor: the most threads that a slot may hold, fall-backs included."""
    slot_memory_mb: int
    slot_hosts: tuple[str, ...]
    """Per slot, the address of its worker; empty when matched to what an existing master gives."""
    pids: tuple[int, ...] = ()
    """Process ids of the master and the workers, in this order, if they are ours."""


@dataclass(frozen=True)
class SlotExecutor:
    """The living executor that stands for a slot."""

    slot: int
    host: str
    executor: str
    """Spark's executor id."""
    pid: int
    """Its process on its machine; 0 while not yet reported."""


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
    All processes end with the `with` block, and also when this program is killed.
    """
    raise NotImplementedError
    yield


def existing(
    master_url: str, cluster: model.Cluster, *, threads_per_slot: int, slot_memory_mb: int = 512
) -> SparkCluster:
    """The standalone master at `spark://host:port`; refused if nobody answers there."""
    raise NotImplementedError


def session(
    cluster: SparkCluster,
    conf: Mapping[str, str] | None = None,
    *,
    name: str = "slotwise",
    meters: bool = True,
    timeout_seconds: float = 60,
) -> SparkSession:
    """A session on `cluster` with every slot bound to a living executor, functions registered.

    Raises SlotwiseError with the numbers when the master gives fewer executors than slots.
    """
    raise NotImplementedError


def slots(spark: SparkSession) -> tuple[SlotExecutor | None, ...]:
    """Per slot of the session's cluster, its executor now; None while it has none."""
    raise NotImplementedError
