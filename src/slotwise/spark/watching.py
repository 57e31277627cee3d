"""A query over time: snapshots of its meters each second, and what was seen in each batch."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from slotwise.model import Observation
from slotwise.spark import meters
from slotwise.spark.loads import Watched
from slotwise.spark.observing import observe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

APART_SECONDS = 0.9
"""Reports come each second, not to the millisecond."""
MOST_SNAPSHOTS = 1200
"""Of a longer run every other one is kept, again and again."""
LATEST_SECONDS = 60
MOST_BATCHES = 1000
REPORTED_SECONDS = 2.0
"""The meters' last reports of a batch have come this long after its end."""


@dataclass
class Watch:
    """What is seen of a query. It goes on over restarts."""

    spark: SparkSession
    snapshots: list[meters.MeterSnapshot] = field(default_factory=list)
    """Of the meters since `forget`: one per second, of long runs one per 2, 4, … seconds."""
    latest: deque[meters.MeterSnapshot] = field(
        default_factory=lambda: deque(maxlen=LATEST_SECONDS)
    )
    """The last ones, one per second."""
    batches: dict[int, Observation] = field(default_factory=dict)
    """What was seen in each finished batch; the last thousand."""
    _read_at: float = 0.0
    _apart: float = APART_SECONDS

    def tick(self, query: StreamingQuery, watched: Watched) -> None:
        """Read the meters, unless less than about a second was reported since the last time."""
        if time.time() < self._read_at + 0.5:
            return
        self._read_at = time.time()
        snapshot = meters.snapshot(self.spark)
        if self.latest and snapshot.time < self.latest[-1].time + APART_SECONDS:
            return
        self.latest.append(snapshot)
        if not self.snapshots or snapshot.time > self.snapshots[-1].time + self._apart:
            self.snapshots.append(snapshot)
        if len(self.snapshots) > MOST_SNAPSHOTS:
            del self.snapshots[1::2]
            self._apart *= 2
        self._observe_batches(query, watched, snapshot.time)

    def forget(self) -> None:
        """Leave what was seen until now out of `observation`: the warm-up."""
        del self.snapshots[:-1]
        self._apart = APART_SECONDS

    def observation(
        self, watched: Watched, last_seconds: float | None = None
    ) -> Observation | None:
        """What was seen, in the last seconds (a minute at most) or in all; None before the second
        report.
        """
        chosen = self.snapshots
        if last_seconds is not None and self.latest:
            since = self.latest[-1].time - last_seconds
            chosen = [snapshot for snapshot in self.latest if snapshot.time >= since]
        return observe(watched, chosen) if len(chosen) >= 2 else None

    def _observe_batches(self, query: StreamingQuery, watched: Watched, now: float) -> None:
        """Complete `batches` with those that have ended and reported."""
        for progress in query.recentProgress:
            batch = int(progress.batchId)
            began = datetime.fromisoformat(progress.timestamp).timestamp()
            ended = began + progress.batchDuration / 1000
            if batch in self.batches or now < ended + REPORTED_SECONDS:
                continue
            seen = meters.batch_snapshot(self.spark, watched.query, batch)
            if seen.threads:
                executors = next((s.executors for s in self.latest if s.time >= began), ())
                nothing = meters.MeterSnapshot(began, (), (), executors)
                self.batches[batch] = observe(watched, [nothing, replace(seen, time=ended)])
        for oldest in sorted(self.batches)[:-MOST_BATCHES]:
            del self.batches[oldest]
