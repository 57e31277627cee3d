"""Snapshots of the meters as arrays, per thread as the plan numbers them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.spark.metering.meters import MeterSnapshot, ThreadMeter, latencies_of

if TYPE_CHECKING:
    from slotwise.spark.metering.loads import Watched

Floats = NDArray[np.float64]

SUMS = (
    "arrivals",
    "emitted",
    "timed",
    "busy_seconds",
    "busy_squared",
    "cpu_seconds",
    "age_seconds",
    "failures",
)
"""The fields of ThreadMeter that only grow."""


@dataclass(frozen=True)
class Counters:
    """One snapshot; NaN where something is not known."""

    time: float
    sums: Mapping[str, Floats]
    """Per field of SUMS and thread; 0 for a thread that has not reported."""
    reported: Floats
    """When each thread's executor reported, in seconds since the epoch."""
    taken_until: Floats
    """Per thread of a source: it has taken in all that was due until then."""
    latencies: NDArray[np.int64]
    """Per bucket of the `sketch`, all threads together."""


@dataclass(frozen=True)
class Difference:
    """What was counted between two snapshots."""

    seconds: Floats
    """Per thread, from one count to the other: each executor reports at times of its own. Where
    these are not known, or the thread began in between, the time between the snapshots."""
    sums: Mapping[str, Floats]
    due_seconds: Floats
    """Per thread of a source, how far `taken_until` has gone on."""
    latencies: NDArray[np.int64]


def number_of(watched: Watched, level: int, partition: int) -> int:
    """The thread, as the plan numbers them, that is a partition of a level."""
    operator, k = watched.layout.thread(level, partition)
    return int(watched.plan.allocation.first_thread[operator]) + k


def by_thread(watched: Watched, snapshot: MeterSnapshot) -> dict[int, ThreadMeter]:
    """The meters of the query's threads, by their number in the plan."""
    return {
        number_of(watched, meter.level, meter.partition): meter
        for meter in snapshot.threads
        if meter.query == watched.query and meter.partition < watched.layout.partitions[meter.level]
    }


def counters(watched: Watched, snapshot: MeterSnapshot) -> Counters:
    """What the query's threads have counted up to `snapshot`."""
    meters = by_thread(watched, snapshot)
    total = watched.plan.allocation.total_threads
    numbers = list(meters)
    times = {meter.executor: meter.time for meter in snapshot.executors}
    until = {
        number: _taken_until(meter, min(times.get(meter.executor, math.inf), snapshot.time))
        for number, meter in meters.items()
    }

    def of_threads(values: Iterable[float], otherwise: float) -> Floats:
        made = np.full(total, otherwise)
        made[numbers] = list(values)
        return made

    return Counters(
        time=snapshot.time,
        sums={
            name: of_threads((getattr(meter, name) for meter in meters.values()), 0.0)
            for name in SUMS
        },
        reported=of_threads((times.get(m.executor, np.nan) for m in meters.values()), np.nan),
        taken_until=of_threads(until.values(), np.nan),
        latencies=latencies_of(meters.values()),
    )


def _taken_until(meter: ThreadMeter, reported: float) -> float:
    """A source that does not know when its next tuple is due may have taken in nothing since its
    last one, or all: the earlier moment counts.
    """
    if meter.next_due is not None:
        return min(meter.next_due, reported)
    return math.nan if meter.last_due is None else meter.last_due


def sent(watched: Watched, snapshot: MeterSnapshot) -> NDArray[np.int64]:
    """Tuples from each thread to each other, as far as their receivers were looked at.

    What has no stream does not count: results of an operator that feeds nobody, on their way to
    where they are written. Memory: threads².
    """
    total = watched.plan.allocation.total_threads
    found = np.zeros((total, total), np.int64)
    outputs, owners = watched.layout.topology.outputs, watched.plan.allocation.thread_operator
    for number, meter in by_thread(watched, snapshot).items():
        if outputs[owners[number]]:
            found[number, meter.first_receiver :][: len(meter.sent)] = meter.sent
    return found


def difference(before: Counters, after: Counters) -> Difference:
    own = after.reported - before.reported
    with np.errstate(invalid="ignore"):
        seconds = np.where(own > 0, own, max(after.time - before.time, 1e-9))
    return Difference(
        seconds=seconds,
        sums={name: after.sums[name] - before.sums[name] for name in SUMS},
        due_seconds=after.taken_until - before.taken_until,
        latencies=after.latencies - before.latencies,
    )
