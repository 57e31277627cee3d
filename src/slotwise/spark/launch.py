"""A plan, running: start, watch, change and stop its query."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyspark.errors import PySparkException

from slotwise.model import Observation, Plan, SlotwiseError
from slotwise.spark import checkpoints, meters, placing
from slotwise.spark.compile import Query, compile, first_sentence
from slotwise.spark.failures import why
from slotwise.spark.loads import Watched, latencies_of
from slotwise.spark.outline import Outline, outline
from slotwise.spark.synthetic import Work
from slotwise.spark.watching import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

POLL_SECONDS = 0.1
FIRST_TUPLE_SECONDS = 60.0
"""A started query that has not delivered a tuple after this long is told to hang."""
CATCH_UP_SECONDS = 30.0
IN_PACE_MS = 500.0
"""A query that is no later than this keeps pace with its sources."""


@dataclass(frozen=True)
class Options:
    """How a plan is run."""

    checkpoint: Path
    rate: float | None = None
    """Input tuples/s, in place of the plan's."""
    work: Work = "wait"
    """What operators without logic do."""
    batch_seconds: float = 30.0
    """Real-time mode commits this often; a failure repeats so much at most."""
    output: Path | None = None
    """A folder for what the query puts out, as lines of JSON; None: it is discarded."""
    meters: bool = True
    placed: bool = True
    """False: Spark places the threads, as it would without a plan."""


@dataclass(frozen=True)
class Change:
    """A new plan in effect."""

    restarted: bool
    pause_seconds: float
    """The longest time without a tuple at the query's end while it was changed."""
    batch: int
    """The first batch that ran as newly planned."""


@dataclass
class Run:
    """A query of a plan."""

    spark: SparkSession
    outline: Outline
    options: Options
    query: StreamingQuery
    watch: Watch
    events: list[str] = field(default_factory=list)
    """What happened, one sentence each."""

    @property
    def plan(self) -> Plan:
        return self.outline.plan

    @property
    def name(self) -> str:
        return self.plan.pipeline.topology.name

    @property
    def watched(self) -> Watched:
        rate = self.plan.rate if self.options.rate is None else self.options.rate
        shares = sum(source.share for source in self.plan.pipeline.topology.sources)
        return Watched(self.plan, self.outline.layout, str(self.query.id), rate * shares)

    def tick(self) -> None:
        """Let `watch` read the meters."""
        self.watch.tick(self.query, self.watched)

    def observation(self, last_seconds: float | None = None) -> Observation | None:
        """As `Watch.observation`."""
        return self.watch.observation(self.watched, last_seconds)

    def latencies(self) -> NDArray[np.int64]:
        """How many tuples at the query's end were in each bucket of latencies, as far as told."""
        return latencies_of(
            thread
            for thread in meters.snapshot(self.spark).threads
            if thread.query == str(self.query.id)
        )

    def delivered(self) -> int:
        """Tuples that have come to the query's end, as far as told."""
        return int(self.latencies().sum())

    def whereabouts(self) -> placing.Whereabouts:
        return placing.where(self.spark, str(self.query.id))

    @property
    def failure(self) -> str:
        """Why the query is not active, in one sentence."""
        return why(self.query, self.spark, self.outline.layout)

    def stop(self) -> None:
        """End the query; what is after its last finished batch is repeated by the next start."""
        self.query.stop()

    def await_tuples(self, more: int = 1, seconds: float = FIRST_TUPLE_SECONDS) -> None:
        """Until so many more tuples have come to the end. Raises SlotwiseError if they do not."""
        enough = self.delivered() + more
        self._await(lambda: self.delivered() >= enough, "delivered no tuple", seconds)

    def await_pace(self, seconds: float = CATCH_UP_SECONDS) -> bool:
        """Until what came due before the query ran is worked off; False if that takes longer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.query.isActive:
            seen = self.observation(last_seconds=3)
            if seen is not None and dict(seen.latency_quantiles)[0.5] < IN_PACE_MS:
                return True
            time.sleep(POLL_SECONDS)
            self.tick()
        return False

    def await_batch(self, seconds: float | None = None) -> int:
        """Until the batch that runs now is done; the number of the next one."""
        before = self.batch
        limit = 3 * self.options.batch_seconds + 30 if seconds is None else seconds
        self._await(lambda: self.batch > before, "finished no batch", limit)
        return self.batch

    @property
    def batch(self) -> int:
        """The number of batches done since the checkpoint's first start."""
        progress = self.query.lastProgress
        return 0 if progress is None else int(progress.batchId) + 1

    def _await(self, holds: Callable[[], bool], what: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if not self.query.isActive:
                raise SlotwiseError(f"the query of '{self.name}' failed: {self.failure}")
            if time.monotonic() > end:
                raise SlotwiseError(f"the query of '{self.name}' has {what} for {seconds:g} s")
            time.sleep(POLL_SECONDS)
            self.tick()

    def restart(self) -> None:
        """Start the query again from its checkpoint; threads go where their slots are now."""
        self.query = _started(self.spark, self.outline, self.options)

    def apply(self, plan: Plan) -> Change:
        """Go on as `plan` says: its placement from the next batch on; other numbers of threads, or
        routes that depend on the places, by a restart from the checkpoint between two batches.
        """
        new = outline(
            plan,
            {
                o.name: self.outline.functions[i].call
                for i, o in enumerate(plan.pipeline.topology.operators)
                if i in self.outline.functions
            },
        )
        if new.layout.topology != self.outline.layout.topology:
            raise SlotwiseError("a running query cannot change its topology: start another run")
        if self._needs_restart(plan):
            _check_state(checkpoints.state_threads(self.options.checkpoint), new)
            return self._restarted(new)
        placing.place(self.spark, self.name, new.layout.slots(plan.placement))
        self.outline = new
        return self._awaited_change()

    def leave_to_spark(self) -> int:
        """Until the next batch, whose threads Spark places as it would without a plan."""
        placing.unplace(self.spark, self.name)
        return self.await_batch()

    def _needs_restart(self, plan: Plan) -> bool:
        if not np.array_equal(plan.allocation.threads, self.plan.allocation.threads):
            return True
        kinds = {stream.grouping.kind for stream in plan.pipeline.topology.streams}
        if "weighted" in kinds and dict(plan.weights) != dict(self.plan.weights):
            return True
        return "local-or-shuffle" in kinds

    def _awaited_change(self) -> Change:
        wanted = self.outline.layout.slots(self.plan.placement)
        batch = self.await_batch()
        pause = self._longest_wait(lambda: self.whereabouts().levels == wanted)
        self.events.append(f"a new placement from batch {batch} on, after {pause:.2f} s")
        return Change(False, pause, batch)

    def _longest_wait(self, holds: Callable[[], bool]) -> float:
        """Seconds that the latest tuple was late, of those delivered from now until a report after
        `holds`: how long the query paused.
        """
        before = self.latencies()
        self._await(holds, "not run as newly planned", FIRST_TUPLE_SECONDS)
        self.await_tuples()
        latest = meters.snapshot(self.spark).time
        self._await(
            lambda: meters.snapshot(self.spark).time > latest + 1,
            "not reported",
            FIRST_TUPLE_SECONDS,
        )
        after = self.latencies()
        after[: len(before)] -= before
        return meters.bucket_ms(int(np.flatnonzero(after)[-1])) / 1000

    def _restarted(self, new: Outline) -> Change:
        self.await_batch()
        began = time.monotonic()
        self.query.stop()
        self.outline = new
        self.restart()
        self.await_tuples()
        pause = time.monotonic() - began
        self.events.append(f"restarted with other threads, after {pause:.2f} s")
        return Change(True, pause, self.batch)


def start(spark: SparkSession, of: Outline, options: Options) -> Run:
    """The plan's query, running. Raises SlotwiseError for what Spark refuses."""
    checkpoints.claim(options.checkpoint, of)
    _check_state(checkpoints.state_threads(options.checkpoint), of)
    return Run(spark, of, options, _started(spark, of, options), Watch(spark))


def _check_state(threads: int | None, of: Outline) -> None:
    """Refuse another number of threads for an aggregate than its state is divided by.

    Spark 4.3 refuses to divide a real-time aggregate's state; with micro-batches it is not tried.
    """
    aggregate = of.layout.aggregate
    if aggregate is not None and threads != of.layout.threads[aggregate]:
        name = of.layout.topology.operators[aggregate].name
        raise SlotwiseError(
            f"the state of aggregate '{name}' is divided by {threads} threads, and Spark cannot "
            f"divide it by {of.layout.threads[aggregate]}: keep {threads}, or begin with another "
            "checkpoint"
        )


def _started(spark: SparkSession, of: Outline, options: Options) -> StreamingQuery:
    aggregate = of.layout.aggregate
    if aggregate is not None:
        spark.conf.set("spark.sql.shuffle.partitions", of.layout.threads[aggregate])
    made = compile(spark, of, rate=options.rate, work=options.work, meters=options.meters)
    name = of.plan.pipeline.topology.name
    if options.placed:
        placing.place(spark, name, of.layout.slots(of.plan.placement))
    else:
        placing.unplace(spark, name)
    try:
        query: StreamingQuery = writer(spark, made, options).queryName(name).start()
        return query
    except PySparkException as error:
        raise SlotwiseError(f"Spark refuses '{name}': {first_sentence(error)}") from None


def writer(spark: SparkSession, made: Query, options: Options) -> Any:
    """What starts the query, and may give it a name before."""
    writer: Any = made.frame.writeStream.outputMode("update")
    writer = writer.option("checkpointLocation", str(options.checkpoint / "spark"))
    writer._jwrite.foreach(_sink(spark, options.output))
    if made.mode == "micro-batch":
        return writer.trigger(processingTime="0 seconds")
    return writer.trigger(realTime=f"{round(options.batch_seconds * 1000)} milliseconds")


def _sink(spark: SparkSession, output: Path | None) -> Any:
    assert spark.sparkContext._jvm is not None
    sinks = spark.sparkContext._jvm.org.slotwise.sink
    if output is None:
        return sinks.Discard()
    output.mkdir(parents=True, exist_ok=True)
    return sinks.JsonFiles(str(output.resolve()))
