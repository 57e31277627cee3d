"""Snapshots of the meters as arrays, per thread as the plan numbers them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.spark.metering.meters import (
    MeterSnapshot,
    ThreadMeter,
    TopicState,
    latencies_of,
)

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
    topics: Mapping[int, TopicState]
    """Per position of a source whose topic was looked at."""


@dataclass(frozen=True)
class Difference:
    """What was counted between two snapshots."""

    seconds: Floats
    """Per thread, from one count to the other: each executor reports at times of its own. Where
    these are not known, or the thread began in between, the time between the snapshots."""
    sums: Mapping[str, Floats]
    due_seconds: Floats
    """Per thread of a source, how far `taken_until` has gone on."""
    written: Mapping[int, float]
    """Per position of a source with a topic, the messages/s that were written to it."""
    latencies: NDArray[np.int64]


def numbered(watched: Watched, snapshot: MeterSnapshot) -> Iterator[tuple[int, ThreadMeter]]:
    """The meters of the query's tasks, each with the number of its thread in the plan; those of an
    aggregate's thread are several.
    """
    layout = watched.layout
    for meter in snapshot.threads:
        if meter.query == watched.query and meter.partition < layout.partitions[meter.level]:
            task = layout.partition_task[meter.level][meter.partition]
            yield int(layout.task_thread[task]), meter


def counters(watched: Watched, snapshot: MeterSnapshot) -> Counters:
    """What the query's threads have counted up to `snapshot`."""
    found = list(numbered(watched, snapshot))
    numbers, meters = [number for number, _ in found], [meter for _, meter in found]
    total = watched.plan.allocation.total_threads
    times = {meter.executor: meter.time for meter in snapshot.executors}

    def summed(name: str) -> Floats:
        counts = np.array([getattr(meter, name) for meter in meters], np.float64)
        return np.bincount(np.array(numbers, np.int64), counts, total).astype(np.float64)

    def of_threads(values: Iterable[float]) -> Floats:
        made = np.full(total, np.nan)
        made[numbers] = list(values)
        return made

    return Counters(
        time=snapshot.time,
        sums={name: summed(name) for name in SUMS},
        reported=of_threads(times.get(meter.executor, np.nan) for meter in meters),
        taken_until=of_threads(
            _taken_until(meter, min(times.get(meter.executor, math.inf), snapshot.time))
            for meter in meters
        ),
        latencies=latencies_of(meters),
        topics=snapshot.topics,
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
    for number, meter in numbered(watched, snapshot):
        if outputs[owners[number]]:
            receivers = watched.layout.task_thread[meter.first_receiver :][: len(meter.sent)]
            np.add.at(found[number], receivers, meter.sent)
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
        written={
            source: (now.written - then.written) / (now.time - then.time)
            for source, now in after.topics.items()
            if (then := before.topics.get(source)) is not None and now.time > then.time
        },
    )
