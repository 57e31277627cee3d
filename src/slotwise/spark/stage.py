"""A cluster and a session on which plans run one after the other: for experiments and studies.

Each plan is a query of its own: the next one starts in 2 s, not in 15.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise.clock import SYSTEM, Clock, await_condition
from slotwise.model import Cluster, SlotwiseError
from slotwise.spark import cluster as spark_cluster
from slotwise.spark.cluster.folders import passing_folder
from slotwise.spark.cluster.quotas import Quota, lifted
from slotwise.spark.metering.meters import ExecutorMeter, snapshot
from slotwise.spark.provided import provided
from slotwise.spark.query.outline import Outline
from slotwise.spark.run import Options, Run, compile_plan, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_SECONDS = 600.0
"""No batch ends within an experiment."""
REPORTED_S = 10.0


@dataclass
class Stage:
    """The session, and the cluster that its plans are for."""

    spark: SparkSession
    model: Cluster
    folder: Path
    cores: float | None
    """The CPU quota of a slot; None: slots have none."""
    slot_memory_mb: int
    quota: Quota | None = None
    clock: Clock = SYSTEM
    _folders: int = 0

    def options(self, **settings: Any) -> Options:
        """For one query: its own checkpoint, and batches that do not end within an experiment."""
        usual = {"batch_seconds": BATCH_SECONDS, "cores_per_slot": self.cores}
        return Options(self.new_folder("checkpoint"), **{**usual, **settings})

    @contextmanager
    def query(self, of: Outline, options: Options) -> Iterator[Run]:
        """The plan's query, started; afterwards it is gone, and so is its checkpoint."""
        try:
            with provided(self.spark, of.plan.pipeline.topology):
                made = compile_plan(self.spark, of, options)
                run = start(self.spark, made, options, self.clock)
                try:
                    yield run
                finally:
                    run.stop()
        finally:
            shutil.rmtree(options.checkpoint, ignore_errors=True)

    def without_quota(self) -> AbstractContextManager[None]:
        """See `quotas.lifted`."""
        return lifted(self.quota)

    def executors(self) -> Mapping[int, ExecutorMeter]:
        """The last report of each living executor, by its slot."""
        return {meter.slot: meter for meter in snapshot(self.spark).executors if meter.slot >= 0}

    def live_memory_mb(self) -> Mapping[int, float]:
        """Per slot, heap that is in use after all garbage is collected, as next reported."""
        tasks = 4 * self.model.slots  # Spark deals them out in turn: every executor gets some
        frame = self.spark.range(0, tasks, 1, tasks)
        frame.selectExpr("reflect('java.lang.System', 'gc')").collect()
        collected = time.time()  # the clock of the executors, which are on this machine
        slots = set(self.executors())

        def reported() -> bool:
            latest = self.executors()
            return all(slot in latest and latest[slot].time > collected for slot in slots)

        if not await_condition(reported, REPORTED_S, self.clock):
            raise SlotwiseError(f"an executor has reported nothing for {REPORTED_S:g} s")
        return {slot: meter.heap_bytes / 2**20 for slot, meter in self.executors().items()}

    def new_folder(self, name: str) -> Path:
        """Removed with the stage."""
        self._folders += 1
        made = self.folder / f"{name}-{self._folders}"
        made.mkdir()
        return made


@contextmanager
def stage(
    model: Cluster,
    *,
    threads_per_slot: int,
    slot_memory_mb: int = 512,
    cores: float | None = None,
    without_quota: Collection[str] = (),
    name: str = "slotwise",
    conf: Mapping[str, str] | None = None,
) -> Iterator[Stage]:
    """A cluster of its own on this machine, and a session; see `cluster.embedded`. `conf` adds to
    the session's settings.
    """
    with ExitStack() as stack:
        on = stack.enter_context(
            spark_cluster.embedded(
                model,
                threads_per_slot=threads_per_slot,
                slot_memory_mb=slot_memory_mb,
                cores_per_slot=cores,
                without_quota=without_quota,
            )
        )
        spark = spark_cluster.session(on, conf, name=name)
        stack.callback(spark.stop)
        folder = stack.enter_context(passing_folder())
        yield Stage(spark, model, folder, cores, slot_memory_mb, on.quota)
