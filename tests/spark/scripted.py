"""A run without Spark and without real time: what is seen of its query follows a script."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slotwise import sketch
from slotwise.model import Plan, SlotwiseError
from slotwise.spark.cluster.executors import task_cpus
from slotwise.spark.metering import meters
from slotwise.spark.metering.meters import MeterSnapshot, ThreadMeter
from slotwise.spark.metering.watch import Watch
from slotwise.spark.query.compile import Query
from slotwise.spark.query.outline import Outline, outline
from slotwise.spark.run import Options, Run
from tests.clocks import SettableClock
from tests.spark.plans import plan, topology
from tests.spark.snapshots import QUERY, START, meter, snapshot

THREADS_PER_SLOT = 8


@dataclass
class ScriptedQuery:
    """As Spark's StreamingQuery."""

    isActive: bool = True  # noqa: N815
    lastProgress: Any = None  # noqa: N815
    recentProgress: tuple[Any, ...] = ()  # noqa: N815
    id: str = QUERY
    runId: str = "run"  # noqa: N815

    def stop(self) -> None:
        self.isActive = False


class ScriptedRun(Run):
    """Set its fields at moments of its clock; it records when its meters were read."""

    clock: SettableClock

    def __init__(self, clock: SettableClock, of: Plan | None = None) -> None:
        made = outline(of or plan(topology("s>a", "a>k"), rate=100.0))
        spark: Any = SimpleNamespace(conf={"spark.task.cpus": task_cpus(THREADS_PER_SLOT)})
        super().__init__(
            spark,
            Options(Path("checkpoint"), batch_seconds=2.0),
            Query(made, None, ()),  # type: ignore[arg-type]
            ScriptedQuery(),  # type: ignore[arg-type]
            SimpleNamespace(  # type: ignore[arg-type]
                silences=lambda *_: {}, topics=SimpleNamespace(lacks_broker=False)
            ),
            clock,
            clock.now_s(),
            made,
        )
        self.tuples = 0
        self.batches = 0
        self.median_ms: float | None = None
        """Of the latency at sinks."""
        self.stable: bool | None = None
        self.measures = True
        self.threads_begun = (0, 0)
        self.ticks: list[float] = []
        self.restarts: list[float] = []

    def tick(self) -> None:
        self.ticks.append(self.clock.now_s())

    def observation(self, last_seconds: float | None = None) -> Any:
        if not self.measures:
            return None
        return SimpleNamespace(latency_p50_ms=self.median_ms, stable=self.stable)

    def delivered(self) -> int:
        return self.tuples

    def begun(self) -> tuple[int, int]:
        return self.threads_begun

    @property
    def batch(self) -> int:
        return self.batches

    @property
    def failure(self) -> str:
        return "an executor was lost"

    def fail(self) -> None:
        self.query.stop()

    def restart(self) -> None:
        """Its first tuple comes half a second later."""
        self.restarts.append(self.clock.now_s())
        self.query = ScriptedQuery()  # type: ignore[assignment]
        self.clock.at(self.clock.now_s() + 0.5, self.deliver)

    def deliver(self) -> None:
        self.tuples += 1


class ScriptedMeters:
    """As the meters of a query with one executor: set `rates` at moments of the clock; they are
    reported at its full seconds.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, clock: SettableClock) -> None:
        self.clock, self.began_s = clock, clock.now_s()
        self.rates: dict[tuple[int, int], int] = {}
        """(level, partition) -> tuples/s."""
        self.latency_s = 0.02
        """Of the tuples at sinks."""
        self.counts: Counter[tuple[int, int]] = Counter()
        self.latencies: Counter[tuple[int, int, int]] = Counter()
        """(level, partition, bucket) -> tuples."""
        self.seconds = 0
        monkeypatch.setattr(meters, "snapshot", lambda spark: self.snapshot())
        monkeypatch.setattr(meters, "forget", lambda spark, query: self.forget())

    def forget(self) -> None:
        self.counts.clear()
        self.latencies.clear()

    def snapshot(self) -> MeterSnapshot:
        while self.seconds + 1 <= self.clock.now_s() - self.began_s:
            self.seconds += 1
            self.counts.update(self.rates)
            bucket = sketch.bucket(self.latency_s)
            self.latencies.update({(*key, bucket): rate for key, rate in self.rates.items()})
        threads = [self._thread(*key, count) for key, count in sorted(self.counts.items())]
        return snapshot(threads, {"a": START + self.seconds}, cpu_seconds=0.5 * self.seconds)

    def _thread(self, level: int, partition: int, count: int) -> ThreadMeter:
        own = {b: n for (*key, b), n in self.latencies.items() if key == [level, partition]}
        first = min(own)
        latencies = np.array([own.get(bucket, 0) for bucket in range(first, max(own) + 1)])
        return meter(
            level,
            partition,
            arrivals=count,
            emitted=count,
            next_due=START + self.seconds if level == 0 else None,
            first_bucket=first,
            latencies=latencies,
        )


class MeteredRun(ScriptedRun):
    """What is seen of it are scripted meters; a batch ends each two seconds."""

    def __init__(self, clock: SettableClock, seen: ScriptedMeters, of: Plan) -> None:
        super().__init__(clock, of)
        self.watch = Watch(self.spark, clock, zero_s=START)
        self.meters = seen
        self.starts: list[int] = []
        """The threads of the second operator at each restart."""
        self.refusals: list[str] = []
        """The next restarts are refused with these."""
        self.ticked: list[float] = []
        self.each_report = lambda run: self.ticked.append(run.now_s())

    tick = Run.tick
    observation = Run.observation  # type: ignore[assignment]
    delivered = Run.delivered
    begun = Run.begun

    @property
    def batch(self) -> int:
        return int(self.now_s() // 2)

    def compile(self, of: Outline) -> Query:
        return Query(of, None, ())  # type: ignore[arg-type]

    def stop(self) -> None:
        self.meters.rates = {}
        super().stop()

    def restart(self) -> None:
        if self.refusals:
            raise SlotwiseError(self.refusals.pop(0))
        self.starts.append(int(self.plan.allocation.threads[1]))
        self.query = ScriptedQuery()  # type: ignore[assignment]
