"""What the meters inside the executors have counted, as one snapshot.

SQL functions that count, usable in any query of a session made by `cluster.session`:

- `meter_in(x)` returns x, of any type, and counts one arrival at the thread that evaluates it.
- `meter_out(x, targets)` returns x and counts what the record emits: `targets` is an array of
  the partitions of the next level it is sent to (array<int>; empty or null: nothing is emitted).
  The time since `meter_in` in the same thread is added to its busy time.
- `meter_out(x)`: as above for the last level: one tuple is emitted, to nobody.

Both are evaluated once per record, in the order in which one uses the other's result: feed
`meter_in`'s result into the operator's expression and that one's result into `meter_out`, and use
`meter_out`'s result, or Spark prunes it.

Work: `burn_us(n)`, `wait_us(n)` (both return n), `hold_mb(n)` (this executor keeps n MB from now
on; returns what it holds), `call_url(url, timeout_ms)` (the answer's body).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ThreadMeter:
    """Counters of one thread since its query began; they only grow, also over batches.

    Rates are differences of two snapshots over the difference of their `time`.
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
    executor: str


@dataclass(frozen=True)
class PairMeter:
    """Tuples sent from a thread to one of the next level, estimated from a sample."""

    query: str
    level: int
    """Of the sender; the receiver is one level on."""
    sender: int
    receiver: int
    tuples: float


@dataclass(frozen=True)
class ExecutorMeter:
    """One executor process. `cpu` is cores in use over the last second."""

    executor: str
    host: str
    slot: int
    pid: int
    cpu: float
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


def snapshot(spark: SparkSession) -> MeterSnapshot:
    """The meters now. Empty when the session was made with `meters=False`."""
    raise NotImplementedError
