"""What the meters inside the executors have counted, as one snapshot.

SQL functions that count, in any query of a session made by `cluster.session`:

- `meter_in(x)` is x, of any type, and counts one arrival at the thread that evaluates it;
  `meter_in(x, ts)` also counts how long ago ts was, in µs since the epoch.
- `meter_in(x, ts, position)` also remembers the position, a number: where in its topic a record is.
- `meter_batch(x, records, nanos, age_us)` is x and counts that many arrivals, that busy time and
  that age, all records together: for operators that are timed elsewhere. It counts nothing if
  `records` is NULL.
- `meter_out(x, targets)` is x and counts what the record emits: `targets` has the numbers of the
  threads that it is sent to (array<int>; empty or NULL: nothing is emitted; negative: to nobody in
  the query). The time since `meter_in` in the same thread is added to the thread's busy time.
- `meter_out(x, routes, first)` does the same for routes, structs (operator, thread, …): the number
  is first[operator] + thread, `first` a constant array<int>. It is the thread that the tuple is
  for, whatever threads pass it on.
- `meter_out(x)` does the same in the last level: one tuple, to nobody.
- `meter_sent(…)`, likewise, is x and counts one more tuple of a record that is already done.
- `meter_latency(ts)` is ts, in µs since the epoch, and counts how long ago that was.
- `attempt(x)` is x, or NULL and one failure counted if computing x throws.

Each is evaluated once per record, in the order in which one uses the other's result: pass the
result of `meter_in` to the operator's expression, that one's to `meter_out`, and use the result of
`meter_out`, or Spark prunes it.

Work for synthetic operators: `burn_us(n)` uses n µs of CPU time, `wait_us(n)` parks the thread,
`lock_us(n)` parks one thread of the executor at a time, `hold_mb(n)` makes the task hold n MB until
it ends; each returns n. `call_url(url, timeout_ms)` returns the body of the response.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slotwise import sketch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


NEVER_MICROS = 2**63 - 1


def _nothing() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadMeter:
    """Counters of one thread since its query began, or since `forget`. They only grow, also over
    batches.

    Rates are differences of two snapshots over the difference of their executors' `time`.
    """

    query: str
    """The query's id."""
    level: int
    partition: int
    arrivals: int
    emitted: int
    timed: int
    """Arrivals that `busy_squared` stands for. Above 20,000/s some are timed and stand for the
    others; of those counted by `meter_batch` none is timed by itself."""
    busy_seconds: float
    """Time between meter_in and meter_out, waits inside the operator included."""
    busy_squared: float
    """The squares of these times, added up, in s²."""
    cpu_seconds: float
    """CPU time of the task's thread, shuffle reading and writing included."""
    age_seconds: float
    """How long ago arriving tuples were due at the source, all of them together."""
    last_due: float | None = None
    """When the tuple that arrived last, of those that are timed, was due, in seconds since the
    epoch; None: not known."""
    next_due: float | None = None
    """When the next tuple of a source is due, likewise: it has taken in all that were due before.
    Infinite: it has taken in all there are. None: not known."""
    position: int | None = None
    """Of a source with a topic: where in it the last record was; see `query.sources`. None: not
    known."""
    failures: int
    """Records on which `attempt` failed."""
    executor: str
    """Where it ran last."""
    first_bucket: int = 0
    latencies: NDArray[np.int64] = field(default_factory=_nothing, compare=False)
    """How many latencies `meter_latency` counted in each bucket of the `sketch`, from
    `first_bucket` on."""
    first_receiver: int = 0
    sent: NDArray[np.int64] = field(default_factory=_nothing, compare=False)
    """How many tuples were sent to each thread, by the numbers that `meter_out` was given, from
    `first_receiver` on. Above 20,000/s some are looked at and stand for the others."""


@dataclass(frozen=True, slots=True)
class ExecutorMeter:
    """One living executor process."""

    executor: str
    host: str
    slot: int
    """-1 if it stands for none."""
    time: float
    """Seconds since the epoch, of its report."""
    pid: int
    cpu: float | None
    """Cores in use over the last second; None in its first report."""
    cpu_seconds: float
    memory_bytes: int
    """Resident memory of the process."""
    heap_bytes: int


@dataclass(frozen=True, slots=True)
class TopicState:
    """A source's topic at one moment."""

    time: float
    """Seconds since the epoch."""
    written: int
    """Messages that it ever had: the offsets after its last ones, all partitions together."""
    left: int | None
    """Of these, the source has still to take in so many; None: not known."""


@dataclass(frozen=True)
class MeterSnapshot:
    """All meters, as the driver knows them: at most about a second old."""

    time: float
    """Seconds since the epoch, of the newest report."""
    threads: tuple[ThreadMeter, ...]
    executors: tuple[ExecutorMeter, ...]
    topics: Mapping[int, TopicState] = field(default_factory=dict)
    """By the position of the source that reads it; none where that is not known."""


@dataclass(frozen=True)
class TaskError:
    """Why a task of a streaming query failed; -1 where its number is not known."""

    stage: int
    partition: int
    message: str


NOTHING = MeterSnapshot(0.0, (), ())


def bucket_ms(bucket: int) -> float:
    """The latency, in ms, that a bucket stands for.

    >>> round(bucket_ms(sketch.bucket(0.066)), 3)
    66.162
    """
    return 1000 * sketch.middle_s(bucket)


def latencies_of(threads: Iterable[ThreadMeter]) -> NDArray[np.int64]:
    """How many tuples were in each bucket of latencies, all threads together."""
    total = np.zeros(sketch.BUCKETS, np.int64)
    for meter in threads:
        total[meter.first_bucket : meter.first_bucket + len(meter.latencies)] += meter.latencies
    return total


def snapshot(spark: SparkSession) -> MeterSnapshot:
    """The meters now. Empty when the session was made with `meters=False`."""
    board = _board(spark)
    return NOTHING if board is None else _snapshot(board.snapshot())


def batch_snapshot(spark: SparkSession, query: str, batch: int) -> MeterSnapshot:
    """As `snapshot`, of what the tasks of one of the query's last batches have counted."""
    board = _board(spark)
    return NOTHING if board is None else _snapshot(board.batch(query, batch))


def forget(spark: SparkSession, query: str) -> None:
    """The threads of a stopped query count from 0 again when it is started: they will be others.
    What those until now are still to report is left out.
    """
    if (board := _board(spark)) is not None:
        board.forget(query)


def task_errors(spark: SparkSession) -> Iterator[TaskError]:
    """Of streaming queries, oldest first."""
    board = _board(spark)
    for error in [] if board is None else json.loads(board.errors()):
        yield TaskError(**error)


def _board(spark: SparkSession) -> Any:
    assert spark.sparkContext._jvm is not None
    return spark.sparkContext._jvm.org.slotwise.meters.MeterBoard.current()


def _snapshot(text: str) -> MeterSnapshot:
    report = json.loads(text)
    return MeterSnapshot(
        max((process["atMillis"] / 1e3 for process in report["processes"]), default=0.0),
        tuple(map(_thread, report["threads"])),
        tuple(map(_executor, report["processes"])),
    )


def _thread(report: dict[str, Any]) -> ThreadMeter:
    return ThreadMeter(
        query=report["query"],
        level=report["level"],
        partition=report["partition"],
        arrivals=report["arrivals"],
        emitted=report["emitted"],
        timed=report["timed"],
        busy_seconds=report["busyNanos"] / 1e9,
        busy_squared=report["busySquared"],
        cpu_seconds=report["cpuNanos"] / 1e9,
        age_seconds=report["ageMicros"] / 1e6,
        last_due=_moment(report["lastDueMicros"]),
        next_due=_moment(report["nextDueMicros"]),
        position=None if report["position"] < 0 else report["position"],
        failures=report["failures"],
        executor=report["executor"],
        first_bucket=report["latencies"]["first"],
        latencies=np.array(report["latencies"]["counts"], np.int64),
        first_receiver=report["receivers"]["first"],
        sent=np.array(report["receivers"]["counts"], np.int64),
    )


def _moment(micros: int) -> float | None:
    """Seconds since the epoch; infinite for Java's largest number, None for 0."""
    if micros == NEVER_MICROS:
        return math.inf
    return micros / 1e6 if micros else None


def _executor(report: dict[str, Any]) -> ExecutorMeter:
    return ExecutorMeter(
        report["executor"],
        report["host"],
        report["slot"],
        report["atMillis"] / 1e3,
        report["pid"],
        report["cores"],
        report["cpuNanos"] / 1e9,
        report["memoryBytes"],
        report["heapBytes"],
    )
