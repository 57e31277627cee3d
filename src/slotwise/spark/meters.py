"""What the meters inside the executors have counted, as one snapshot.

SQL functions that count, in any query of a session made by `cluster.session`:

- `meter_in(x)` is x, of any type, and counts one arrival at the thread that evaluates it;
  `meter_in(x, ts)` also how long ago ts was, µs since the epoch.
- `meter_batch(x, records, nanos, age_us)` is x and counts so many arrivals, that busy time, and
  that age of all of them together: for operators that are timed elsewhere. Nothing if `records` is
  null.
- `meter_out(x, targets)` is x and counts what the record emits: `targets` is an array of the
  partitions of the next level it is sent to (array<int>; empty or null: nothing is emitted;
  negative: to nobody in the query). The time since `meter_in` in the same thread is added to its
  busy time.
- `meter_out(x)`: as above for the last level: one tuple, to nobody.
- `meter_sent(x, targets)` is x and counts one more tuple of a record that is already done.
- `meter_latency(ts)` is ts, µs since the epoch, and counts how long ago that was.
- `attempt(x)` is x, or null and one failure counted if computing x throws.

Each is evaluated once per record, in the order in which one uses the other's result: feed
`meter_in`'s result into the operator's expression, that one's into `meter_out`, and use
`meter_out`'s result, or Spark prunes it.

Work for synthetic operators: `burn_us(n)` (uses n µs of CPU time), `wait_us(n)` (parks the thread);
`hold_mb(n)` (the thread's task holds n MB until it ends), all of which return n; `call_url(url,
timeout_ms)`, the body of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ThreadMeter:
    """Counters of one thread since its query began; they only grow, also over batches.

    Rates are differences of two snapshots over the difference of their executors' `time`.
    """

    query: str
    """The query's id."""
    level: int
    partition: int
    arrivals: int
    emitted: int
    busy_seconds: float
    """Time between meter_in and meter_out, waits inside the operator included."""
    cpu_seconds: float
    """CPU time of the task's thread, shuffle reading and writing included."""
    age_seconds: float
    """How long ago arriving tuples were due at the source, all of them together."""
    failures: int
    """Records on which `attempt` failed."""
    executor: str
    """Where it ran last."""
    latencies: tuple[int, ...] = ()
    """How many `meter_latency` were in each bucket; see `bucket_ms`."""


@dataclass(frozen=True)
class PairMeter:
    """Tuples sent from a thread to one of the next level: its emitted ones, divided as in the
    sample. 5 % of the records are sampled, or the session's `spark.slotwise.meters.sample`.
    """

    query: str
    level: int
    """Of the sender; the receiver is one level on."""
    sender: int
    receiver: int
    tuples: float


@dataclass(frozen=True)
class ExecutorMeter:
    """One living executor process."""

    executor: str
    host: str
    slot: int
    """-1 if it stands for none."""
    time: float
    """Seconds since the epoch, of its report."""
    pid: int
    cpu: float
    """Cores in use over the last second."""
    cpu_seconds: float
    memory_bytes: int
    """Resident memory of the process."""
    heap_bytes: int


@dataclass(frozen=True)
class MeterSnapshot:
    """All meters, as the driver knows them: at most about a second old."""

    time: float
    """Seconds since the epoch, of the newest report."""
    threads: tuple[ThreadMeter, ...]
    pairs: tuple[PairMeter, ...]
    executors: tuple[ExecutorMeter, ...]


@dataclass(frozen=True)
class TaskError:
    """What a failed task of a streaming query has told; -1 where its number is not known."""

    stage: int
    partition: int
    message: str


NOTHING = MeterSnapshot(0.0, (), (), ())


def bucket_ms(bucket: int) -> float:
    """The middle of a bucket of latencies, ms: within 0.8 % of all that is in it.

    >>> bucket_ms(10), bucket_ms(64), bucket_ms(64 + 64 * 10)
    (0.0105, 0.0645, 66.048)
    """
    if bucket < 64:
        return (bucket + 0.5) / 1000
    doublings, part = divmod(bucket - 64, 64)
    return float((64 + part + 0.5) * 2**doublings / 1000)


def snapshot(spark: SparkSession) -> MeterSnapshot:
    """The meters now. Empty when the session was made with `meters=False`."""
    board = _board(spark)
    return NOTHING if board is None else _snapshot(board.snapshot())


def batch_snapshot(spark: SparkSession, query: str, batch: int) -> MeterSnapshot:
    """As `snapshot`, of what the tasks of one of the query's last batches have counted."""
    board = _board(spark)
    return NOTHING if board is None else _snapshot(board.batch(query, batch))


def task_errors(spark: SparkSession) -> Iterator[TaskError]:
    """Of streaming queries, oldest first."""
    board = _board(spark)
    for error in [] if board is None else json.loads(board.errors()):
        yield TaskError(**error)


def _board(spark: SparkSession) -> Any:
    assert spark.sparkContext._jvm is not None
    return spark.sparkContext._jvm.org.slotwise.meters.MeterBoard.current()


def _snapshot(text: str) -> MeterSnapshot:
    told = json.loads(text)
    return MeterSnapshot(
        max((process["atMillis"] / 1e3 for process in told["processes"]), default=0.0),
        tuple(map(_thread, told["threads"])),
        tuple(pair for thread in told["threads"] for pair in _pairs(thread)),
        tuple(map(_executor, told["processes"])),
    )


def _thread(told: dict[str, Any]) -> ThreadMeter:
    return ThreadMeter(
        told["query"],
        told["level"],
        told["partition"],
        told["arrivals"],
        told["emitted"],
        told["busyNanos"] / 1e9,
        told["cpuNanos"] / 1e9,
        told["ageMicros"] / 1e6,
        told["failures"],
        told["executor"],
        tuple(told["latencies"]),
    )


def _pairs(told: dict[str, Any]) -> Iterator[PairMeter]:
    sampled = sum(told["sampled"])
    for receiver, count in enumerate(told["sampled"]):
        if count:
            tuples = told["emitted"] * count / sampled
            yield PairMeter(told["query"], told["level"], told["partition"], receiver, tuples)


def _executor(told: dict[str, Any]) -> ExecutorMeter:
    return ExecutorMeter(
        told["executor"],
        told["host"],
        told["slot"],
        told["atMillis"] / 1e3,
        told["pid"],
        told["cores"],
        told["cpuNanos"] / 1e9,
        told["memoryBytes"],
        told["heapBytes"],
    )
