"""A query over time: snapshots of its meters each second, and what was seen in each batch."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from slotwise.clock import SYSTEM, Clock
from slotwise.model import Observation
from slotwise.model.deployment import check_window
from slotwise.spark.metering import meters
from slotwise.spark.metering.history import History
from slotwise.spark.metering.loads import Watched
from slotwise.spark.metering.observe import observe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from slotwise.spark.topics import Topics

KEPT_S = 600.0
APART_S = 0.9
"""Reports come each second, not to the millisecond."""
MOST_BATCHES = 1000
REPORTED_S = 2.0
"""The meters' last reports of a batch have come this long after its end."""

SILENT_S = 3.0
"""Executors report each second; on a busy machine a report may be so late."""


@dataclass
class Watch:
    """What is seen of a query. It goes on over restarts.

    Windows of up to `kept_s` seconds are exact to a report. Memory does not grow with time: a
    snapshot per second of `kept_s`, as many again of all that was before, and a thousand batches.
    """

    spark: SparkSession
    clock: Clock = SYSTEM
    kept_s: float = KEPT_S
    batches: dict[int, Observation] = field(default_factory=dict)
    """What was seen in each finished batch; the last thousand."""
    zero_s: float = field(default_factory=time.time)
    """When the run began, in seconds since the epoch, as executors report: observations count
    their seconds from then on, also over restarts."""
    topics: Topics | None = None
    """Of the query's sources; None: no topic is looked at."""
    _read_at: float = -math.inf

    def __post_init__(self) -> None:
        self.history = History(self.kept_s)

    def tick(self, query: StreamingQuery, watched: Watched) -> bool:
        """Read the meters, unless less than about a second was reported since the last time:
        whether they were read.
        """
        if self.clock.now_s() < self._read_at + 0.5:
            return False
        self._read_at = self.clock.now_s()
        snapshot = meters.snapshot(self.spark)
        last = self.history.last
        if last is not None and snapshot.time < last.time + APART_S:
            return False
        own = tuple(thread for thread in snapshot.threads if thread.query == watched.query)
        topics = {} if self.topics is None else self.topics.seen(query, own, time.time())
        self.history.append(replace(snapshot, threads=own, topics=topics))
        self._observe_batches(query, watched, snapshot.time)
        return True

    def forget(self) -> None:
        """Leave what was seen until now out of all that is observed: a warm-up, another plan."""
        self.history.forget()

    def restart(self, query: str) -> None:
        """Forget everything, also what the threads of the stopped query have counted: it is going
        to be started with others.
        """
        meters.forget(self.spark, query)
        self.history.clear()

    def observation(self, watched: Watched, last_s: float | None = None) -> Observation | None:
        """What was seen since `forget`: in the last seconds, from the report nearest to their
        beginning on, or in all; None before the second report.

        Raises SlotwiseError for more than `kept_s` seconds, once more have passed.
        """
        last = self.history.last
        if last_s is not None:
            check_window(last_s, 0.0 if last is None else last.time - self.zero_s, self.kept_s)
        if last is None:
            return None
        chosen = self.history.whole() if last_s is None else self.history.since(last.time - last_s)
        return observe(watched, chosen, self.zero_s) if len(chosen) >= 2 else None

    def silences(self, now_s: float, longer_s: float) -> dict[int, float]:
        """Slots that have threads of the query and have not reported for longer than that, and for
        how long; at `now_s` of the run's clock.
        """
        last = self.history.last
        if last is None:
            return {}
        used = {thread.executor for thread in last.threads}
        silent_s = {
            meter.slot: now_s - (meter.time - self.zero_s)
            for meter in last.executors
            if meter.executor in used
        }
        return {slot: seconds for slot, seconds in silent_s.items() if seconds > longer_s}

    def _observe_batches(self, query: StreamingQuery, watched: Watched, now: float) -> None:
        """Complete `batches` with those that have ended and reported."""
        for progress in query.recentProgress:
            batch = int(progress.batchId)
            began = datetime.fromisoformat(progress.timestamp).timestamp()
            ended = began + progress.batchDuration / 1000
            if batch in self.batches or now < ended + REPORTED_S:
                continue
            seen = meters.batch_snapshot(self.spark, watched.query, batch)
            if seen.threads:
                executors = next((s.executors for s in self.history if s.time >= began), ())
                nothing = meters.MeterSnapshot(began, (), executors)
                self.batches[batch] = observe(
                    watched, [nothing, replace(seen, time=ended)], self.zero_s
                )
        for oldest in sorted(self.batches)[:-MOST_BATCHES]:
            del self.batches[oldest]
