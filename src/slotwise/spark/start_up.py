"""From a plan to a running query and back to nothing: driver, cluster, run, in one `with`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from slotwise.clock import SYSTEM, Clock
from slotwise.spark import checkpoints, cluster, outputs
from slotwise.spark.cluster import Site, SparkCluster
from slotwise.spark.cluster.folders import passing_folder
from slotwise.spark.cluster.libraries import settings
from slotwise.spark.provided import provided, services_of
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.refusals import read_in_batches
from slotwise.spark.run import Options, Run, compile_plan, start
from slotwise.spark.waiting import await_tuples, work_off_backlog

WARM_UP_S = 10.0
"""Java compiles most of what a query needs in its first seconds."""


@dataclass
class Timeline:
    """The steps of a start-up, and how long each took."""

    report: Callable[[str], None] = lambda text: None
    """Called with a line after each step."""
    clock: Clock = SYSTEM
    steps: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began_s = self.clock.now_s()
        yield
        self.steps.append((name, self.clock.now_s() - began_s))
        self.report(f"{name}: {self.steps[-1][1]:.1f} s")

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.steps)


@contextmanager
def launched(
    of: Outline,
    options: Options | None = None,
    *,
    site: Site | None = None,
    timeline: Timeline | None = None,
    grows: bool = False,
) -> Iterator[Run]:
    """The plan's query, delivering tuples; on an embedded cluster if no site is given.

    What Spark refuses is refused before a cluster starts. Without options, and so without a
    checkpoint that lasts, everything is gone at the end. `grows`: leave room for plans with more
    threads.
    """
    site, times = site or Site(), timeline or Timeline()
    with ExitStack() as stack:
        if options is None:
            options = Options(stack.enter_context(passing_folder()) / "checkpoint")
        if of.mode == "micro-batch" and (why := read_in_batches(of.plan.pipeline.topology)):
            times.report(f"in micro-batches: {why}")
        services_of(of.plan.pipeline.topology)  # refuses an unknown one before anything starts
        options = replace(options, cores_per_slot=site.cores_per_slot)
        chosen = settings(of.plan.pipeline, site.conf)
        checkpoints.check(options.checkpoint, of)
        outputs.check(of.plan.pipeline.topology, options.output, options.checkpoint)
        site.check(of.plan)
        processes = stack.enter_context(ExitStack())  # they end after the session that uses them
        room = site.room(sum(of.layout.tasks), grows)
        prepared = processes.enter_context(site.prepared(of.plan.cluster, room, chosen))

        def start_cluster() -> SparkCluster:
            with times.step("cluster"):
                return processes.enter_context(cluster.started(prepared))

        # With authentication a driver connects when it starts; see jvm/…/LateBackend.java.
        started = start_cluster() if chosen.get("spark.authenticate") == "true" else None
        with times.step("driver"):
            spark = cluster.driver(started or prepared, chosen, name=of.plan.pipeline.topology.name)
            stack.callback(spark.stop)
        if page := spark.sparkContext.uiWebUrl:
            times.report(f"Spark's own page: {page}")
        topology, here = of.plan.pipeline.topology, prepared.is_embedded
        stack.enter_context(provided(spark, topology, on_this_machine=here))
        with times.step("query compiled"):
            made = compile_plan(spark, of, options)
        started = started or start_cluster()
        with times.step("an executor per slot"):
            machines = cluster.connect(spark, started)
        with times.step("query started"):
            run = start(spark, made, options, times.clock, machines)
            stack.callback(run.stop)
        with run.without_quota():  # what Java compiles meanwhile is no part of what is measured
            with times.step("first tuple at a sink"):
                await_tuples(run)
            with times.step("backlog worked off"):
                work_off_backlog(run)
        yield run
