"""From a plan to a running query and back to nothing: cluster, session, run, in one `with`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from slotwise.model import Plan, SlotwiseError
from slotwise.spark import checkpoints, cluster
from slotwise.spark.explain import checked_sql
from slotwise.spark.folders import passing_folder
from slotwise.spark.launch import Options, Run, start
from slotwise.spark.outline import Outline


@dataclass
class Timeline:
    """Where the time goes until a query keeps pace with its sources."""

    tell: Callable[[str], None] = lambda text: None
    steps: list[tuple[str, float]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.steps.append((name, time.monotonic() - began))
        self.tell(f"{name}: {self.steps[-1][1]:.1f} s")

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.steps)


@dataclass(frozen=True)
class Site:
    """Where a plan is to run: on an embedded cluster, or at a master."""

    master: str | None = None
    """`spark://host:port` of an existing one."""
    slot_memory_mb: int = 512
    cores_per_slot: float | None = None
    """A CPU quota per slot; see `cluster.embedded`."""

    def check(self, plan: Plan) -> None:
        """Raise SlotwiseError for what is known to be missing before anything starts."""
        if self.master is None:
            cluster.check(plan.cluster, self.slot_memory_mb, self.cores_per_slot)
            return
        if self.cores_per_slot is not None:
            raise SlotwiseError(
                f"a CPU quota per slot is for embedded clusters, not for {self.master}"
            )
        cluster.check_master(self.master)

    @contextmanager
    def cluster(self, plan: Plan) -> Iterator[cluster.SparkCluster]:
        """Ready for sessions; an embedded one ends with the `with` block."""
        threads, memory_mb = plan.allocation.total_threads, self.slot_memory_mb
        if self.master is not None:
            yield cluster.existing(
                self.master, plan.cluster, threads_per_slot=threads, slot_memory_mb=memory_mb
            )
            return
        with cluster.embedded(
            plan.cluster,
            threads_per_slot=threads,
            slot_memory_mb=memory_mb,
            cores_per_slot=self.cores_per_slot,
        ) as started:
            yield started


@contextmanager
def launched(
    outline: Outline,
    options: Options | None = None,
    *,
    site: Site | None = None,
    timeline: Timeline | None = None,
) -> Iterator[Run]:
    """The plan's query, delivering tuples; on an embedded cluster if no site is given.

    Without options, and so without a checkpoint that lasts, everything is gone at the end.
    """
    site, times = site or Site(), timeline or Timeline()
    with ExitStack() as stack:
        if options is None:
            options = Options(stack.enter_context(passing_folder()) / "checkpoint")
        goes_on = checkpoints.check(options.checkpoint, outline)
        site.check(outline.plan)
        if not goes_on:
            with times.step("SQL checked"):
                checked_sql(outline, embedded=site.master is None)
        with times.step("cluster"):
            on = stack.enter_context(site.cluster(outline.plan))
        with times.step("session with an executor per slot"):
            spark = cluster.session(on, name=outline.plan.pipeline.topology.name)
            stack.callback(spark.stop)
        with times.step("query compiled and started"):
            run = start(spark, outline, options)
            stack.callback(run.stop)
        with times.step("first tuple at the end"):
            run.await_tuples()
        with times.step("worked off what came due meanwhile"):
            run.await_pace()
        yield run
