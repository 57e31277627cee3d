"""A plan at work on Spark: its query from start to stop, to be watched and changed.

    start → (advance, observe, apply, restart) … → stop

Its other concerns: `waiting` (until something is seen), `supervise` (after a failure it goes on),
`changing` (a new plan), `metering` (what is measured).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pyspark.errors import PySparkException

from slotwise.clock import SYSTEM, Clock
from slotwise.model import (
    Change,
    Observation,
    Plan,
    Profiles,
    Schedule,
    SlotwiseError,
    counted,
)
from slotwise.model.deployment import check_seconds
from slotwise.paced import factor_at, pace_of
from slotwise.spark import checkpoints, failures, outputs, topics
from slotwise.spark.changing import change
from slotwise.spark.cluster import Machines, pinning
from slotwise.spark.cluster.quotas import lifted
from slotwise.spark.metering import meters
from slotwise.spark.metering.loads import Watched
from slotwise.spark.metering.watch import KEPT_S, SILENT_S, Watch
from slotwise.spark.query.compile import Query, compile
from slotwise.spark.query.expressions import first_sentence
from slotwise.spark.query.outline import Outline
from slotwise.spark.query.sinks import letters, writer
from slotwise.spark.query.synthetic import Work
from slotwise.spark.supervise import Failures, supervise
from slotwise.spark.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""Which transformWithState needs."""
READING_STAGES = "slotwise.readingStages"
"""What the query's stages inherit: how many of them only read; see QueryStage.java."""
LETTERS = "slotwise.secret.deadLetters"
"""Likewise: where dead letters go; see DeadLetters.java."""


@dataclass(frozen=True)
class Options:
    """How a plan is run."""

    checkpoint: Path
    rate: float | None = None
    """Input tuples/s, in place of the plan's."""
    schedule: Schedule | None = None
    """How the rate of every source changes, in place of the schedules in the spec."""
    work: Work = "wait"
    """What operators without logic do."""
    profiles: Profiles | None = None
    """By which they do it, in place of the plan's."""
    batch_seconds: float = 30.0
    """Real-time mode commits this often; a failure repeats so much at most."""
    output: Path | None = None
    """A folder for the query's output, as JSON lines; None: it is discarded."""
    meters: bool = True
    placed: bool = True
    """False: Spark places the threads, as it would without a plan."""
    kept_s: float = KEPT_S
    """The longest window that can be observed."""
    cores_per_slot: float | None = None
    """The CPU quota of the cluster's slots; `start_up.launched` sets it to that of its site."""
    planned: Plan | None = None
    """What was planned before a run under a controller changed it, where this run goes on with the
    plan that was then in effect; see `checkpoints.in_effect`."""

    def given(self, plan: Plan) -> Options:
        """With the rate and the profiles that the sources and the operators without logic keep to
        from the first plan on, whatever later plans assume.
        """
        first = self.planned or plan
        return replace(
            self,
            planned=first,
            rate=first.rate if self.rate is None else self.rate,
            profiles=self.profiles or first.pipeline.profiles,
        )


def compile_plan(spark: SparkSession, of: Outline, options: Options) -> Query:
    """The plan's query as Spark has analysed it; the session needs no executors yet.

    Raises SlotwiseError, naming the operator, for what Spark refuses, and for topics that are not
    there.
    """
    options = options.given(of.plan)
    made = compile(
        spark,
        of,
        rate=options.rate,
        schedule=options.schedule,
        work=options.work,
        profiles=options.profiles,
        meters=options.meters,
    )
    topics.check(spark, of)
    return made


def start(
    spark: SparkSession,
    made: Query,
    options: Options,
    clock: Clock = SYSTEM,
    machines: Machines | None = None,
) -> Run:
    """The compiled query, started. Raises SlotwiseError for what Spark refuses.

    `machines`: those of the session, to be changed as later plans say.
    """
    plan = made.outline.plan
    checkpoints.claim(options.checkpoint, made.outline)
    checkpoints.keep(options.checkpoint, options.planned or plan, plan)
    outputs.claim(made.outline.layout.topology, options.output, options.checkpoint)
    of_sources = Topics(spark, made.outline.layout, options.checkpoint)
    of_sources.begin()
    query = _started(spark, made, options)
    watch = Watch(spark, clock, options.kept_s, topics=of_sources)
    run = Run(spark, options, made, query, watch, clock, clock.now_s(), made.outline)
    run.machines = machines
    return run


@dataclass
class Run:
    """The query of a plan; see model.Deployment."""

    spark: SparkSession
    options: Options
    compiled: Query
    """As it was last started, but for the places of its threads."""
    query: StreamingQuery
    watch: Watch
    clock: Clock
    started_s: float
    """When it was first started, by `clock`."""
    outline: Outline
    """Of the plan in effect."""
    events: list[str] = field(default_factory=list)
    """What happened, one sentence each."""
    resumed_s: float = 0.0
    failures: Failures = field(default_factory=Failures)
    machines: Machines | None = None
    """Those of its session, where they may change; None: they are as they are."""
    each_report: Callable[[Run], None] = lambda run: None
    """Called when the meters were read: each second while somebody waits."""
    is_over: Callable[[], bool] = lambda: False
    """Somebody wants it to end: every wait ends then, and no change begins."""

    def __post_init__(self) -> None:
        self.options = self.options.given(self.plan)

    # -- lifecycle --------------------------------------------------------------------------

    def restart(self) -> None:
        """Start the stopped or failed query again from its checkpoint, with every thread in its
        slot's executor of this moment.
        """
        if self.compiled.outline is not self.outline:
            self.compiled = self.compile(self.outline)
        hosts = self.hosts(self.plan)
        assert self.watch.topics is not None
        self.watch.topics.layout = self.outline.layout
        self.watch.topics.begin()
        self.query = _started(self.spark, self.compiled, self.options, hosts)

    def compile(self, of: Outline) -> Query:
        return compile_plan(self.spark, of, self.options)

    def stop(self) -> None:
        """End the query; the next start repeats what came after its last finished batch."""
        pinning.end(self.spark, str(self.query.runId))
        self.query.stop()
        if self.watch.topics is not None:
            self.watch.topics.close()

    def without_quota(self) -> AbstractContextManager[None]:
        """See `quotas.lifted`: for the executors that its machines have now."""
        return lifted(None if self.machines is None else self.machines.cluster.quota)

    # -- Deployment -------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        return self.outline.plan

    def now_s(self) -> float:
        """Seconds since the first start; a restart does not set it back."""
        return self.clock.now_s() - self.started_s

    def advance(self, seconds: float) -> None:
        """As `supervise`: wait, read the meters, start the query again if it fails; no longer than
        until `is_over`.
        """
        check_seconds("seconds", seconds)
        supervise(self, seconds)

    def observe(self, last_s: float) -> Observation:
        """As `Watch.observation`; raises SlotwiseError if nothing was measured yet, and for a slot
        that has reported nothing in the second half of the window: what its threads have done is
        not known.

        After `apply` the window begins, at the earliest, at a report from when the plan was in
        effect.
        """
        seen = self.observation(last_s)
        if seen is None:
            raise SlotwiseError(f"the run of '{self.name}' has measured nothing yet")
        if silences := self.watch.silences(self.now_s(), max(last_s / 2, SILENT_S)):
            slot, silent_s = next(iter(silences.items()))
            name = self.plan.cluster.slot(slot) if slot < self.plan.cluster.slots else slot
            others = counted(len(silences) - 1, "other slot")
            raise SlotwiseError(
                f"slot {name} has reported nothing for {silent_s:.0f} s"
                + (f", nor have {others}" if len(silences) > 1 else "")
            )
        return seen

    def apply(self, plan: Plan) -> Change:
        """As `changing.change`: at the next batch, or by a restart. The checkpoint knows which plan
        is in effect.
        """
        before = self.plan
        try:
            return change(self, plan)
        finally:
            if self.plan is not before:
                assert self.options.planned is not None
                checkpoints.keep(self.options.checkpoint, self.options.planned, self.plan)

    # -- what is seen of it -----------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.plan.pipeline.topology.name

    @property
    def rate(self) -> float:
        """The nominal input rate, of the first plan; schedules change what the sources are asked
        for.
        """
        assert self.options.rate is not None
        return self.options.rate

    @property
    def watched(self) -> Watched:
        of, sources = self.outline, self.plan.pipeline.topology.sources
        scheduled = self.options.schedule is not None or any(
            (pace := pace_of(source)) is None or pace.schedule for source in sources
        )
        outside = frozenset(i for i, function in of.functions.items() if function.on_batches)
        query = str(self.query.id)
        cores = self.options.cores_per_slot or 1.0
        rate = self.rate * factor_at(sources, self.now_s(), self.options.schedule)
        return Watched(self.plan, of.layout, query, rate, of.mode, scheduled, outside, cores)

    def tick(self) -> None:
        """Let `watch` read the meters."""
        if self.watch.tick(self.query, self.watched):
            if self.watch.topics is not None:
                self.events += self.watch.topics.news()
            self.each_report(self)

    @property
    def is_idle(self) -> bool:
        """It runs, and there is nothing to read: no tuple may come for as long as that is so."""
        sources = self.plan.pipeline.topology.sources
        if any(pace_of(source) is not None for source in sources):
            return False
        if self.outline.mode == "micro-batch":
            return self.awaits_data
        last = self.watch.history.last
        seen = {} if last is None else last.topics
        runs = len(self.whereabouts().tasks) >= sum(self.outline.layout.tasks)
        topics = len(self.outline.layout.levels[0])
        return runs and len(seen) == topics and all(t.left == 0 for t in seen.values())

    @property
    def awaits_data(self) -> bool:
        """No micro-batch begins, because there is nothing to read."""
        status = self.query.status
        return not status["isDataAvailable"] and "Waiting for data" in status["message"]

    @property
    def lacks_broker(self) -> bool:
        """No broker answers for the topic of one of its sources."""
        return self.watch.topics is not None and self.watch.topics.lacks_broker

    def begun(self) -> tuple[int, int]:
        """How many executors have reported, and how many threads have got a tuple."""
        last = self.watch.history.last
        if last is None:
            return 0, 0
        return len(last.executors), sum(thread.arrivals > 0 for thread in last.threads)

    def release_late(self) -> None:
        """Give back executors of machines that came up when they were no longer waited for."""
        last = self.watch.history.last if self.machines is not None else None
        if last is not None and any(executor.slot < 0 for executor in last.executors):
            assert self.machines is not None
            self.machines.release_unbound()

    def observation(self, last_s: float | None = None) -> Observation | None:
        """As `Watch.observation`."""
        return self.watch.observation(self.watched, last_s)

    def latencies(self) -> NDArray[np.int64]:
        """How many tuples at sinks were in each bucket of latencies, as last reported."""
        return meters.latencies_of(
            thread
            for thread in meters.snapshot(self.spark).threads
            if thread.query == str(self.query.id)
        )

    def delivered(self) -> int:
        """Tuples that have arrived at sinks since the threads are as many, as last reported."""
        return int(self.latencies().sum())

    @property
    def batch(self) -> int:
        """The number of batches finished since the checkpoint's first start."""
        progress = self.query.lastProgress
        return 0 if progress is None else int(progress.batchId) + 1

    def hosts(self, plan: Plan) -> tuple[str, ...] | None:
        """The host of each slot of a plan whose machines the session has; None: as they are."""
        return None if self.machines is None else self.machines.hosts(plan.cluster)

    def whereabouts(self) -> pinning.Whereabouts:
        return pinning.where(self.spark, str(self.query.id))

    def threads_in_place(self) -> tuple[int, int]:
        """(threads that are all in their slot in the last batch, threads that it has)."""
        found: dict[tuple[int, int], bool] = {}
        for task in self.whereabouts().tasks:
            if task.partition >= self.outline.layout.partitions[task.level]:
                continue  # of a topic that has grown
            thread = self.outline.layout.thread(task.level, task.partition)
            found[thread] = found.get(thread, True) and task.slot == task.planned
        return sum(found.values()), len(found)

    @property
    def failure(self) -> str:
        """Why the query is not active, in one sentence."""
        return failures.why(self.query, self.spark, self.outline.layout, self.clock)


def _started(
    spark: SparkSession, made: Query, options: Options, hosts: tuple[str, ...] | None = None
) -> StreamingQuery:
    of, name = made.outline, made.outline.plan.pipeline.topology.name
    if of.layout.key_groups is not None:
        spark.conf.set("spark.sql.shuffle.partitions", of.layout.key_groups)
    if any(operator.logic.stateful for operator in of.layout.topology.operators):
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS_DB)
    if options.placed:
        pinning.place(spark, name, of.layout.slots(of.plan.placement), hosts)
    else:
        pinning.unplace(spark, name)
    outputs.remove_uncommitted(of.layout.topology, options.output, options.checkpoint)
    writing = writer(made, options.checkpoint, options.batch_seconds, options.output)
    context = spark.sparkContext
    context.setLocalProperty(READING_STAGES, str(of.reading_stages))
    context.setLocalProperty(LETTERS, letters(of.layout.topology) or "")
    try:
        query: StreamingQuery = writing.queryName(name).start()
        return query
    except PySparkException as error:
        raise SlotwiseError(f"Spark refuses '{name}': {first_sentence(error)}") from None
    finally:
        context.setLocalProperty(READING_STAGES, "0")  # of other queries of this thread
        context.setLocalProperty(LETTERS, "")
