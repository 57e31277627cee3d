"""Made-up snapshots of the meters: what a run would have reported, second by second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slotwise import sketch
from slotwise.spark.metering.loads import Watched
from slotwise.spark.metering.meters import ExecutorMeter, MeterSnapshot, ThreadMeter
from slotwise.spark.query.levels import layout
from tests.spark.plans import plan, topology

QUERY = "q"
START = 1_700_000_000.0
"""The epoch's second of the first snapshot."""


def watched(*streams: str, offered: float = 100.0, **of: object) -> Watched:
    """A query of these streams, `s>a`, one thread per operator unless `threads` says otherwise."""
    threads = of.pop("threads", 1)
    mode = of.pop("mode", "real-time")
    made = plan(topology(*streams, **of), threads)  # type: ignore[arg-type]
    return Watched(made, layout(made), QUERY, offered, mode)  # type: ignore[arg-type]


def meter(
    level: int,
    partition: int = 0,
    executor: str = "a",
    to: Mapping[int, int] | None = None,
    **counted: object,
) -> ThreadMeter:
    """A thread that has counted what is given, and nothing else; `to` has the tuples that it sent
    to tasks, by their numbers (see Layout.first_task).
    """
    if to:
        first, last = min(to), max(to)
        sent = np.array([to.get(number, 0) for number in range(first, last + 1)])
        counted = {"emitted": sum(to.values()), "first_receiver": first, "sent": sent, **counted}
    nothing = dict.fromkeys(("arrivals", "emitted", "timed", "failures"), 0)
    no_time = dict.fromkeys(("busy_seconds", "busy_squared", "cpu_seconds", "age_seconds"), 0.0)
    given = {"query": QUERY, **nothing, **no_time, **counted}
    return ThreadMeter(level=level, partition=partition, executor=executor, **given)  # type: ignore[arg-type]


def snapshot(
    threads: Sequence[ThreadMeter], reported: dict[str, float], **of_executors: float | None
) -> MeterSnapshot:
    """`reported` is when each executor has reported; they are in the slots 0, 1, …"""
    known = {"cpu": 0.0, "cpu_seconds": 0.0, "memory_bytes": 0, "heap_bytes": 0, **of_executors}
    executors = tuple(
        ExecutorMeter(name, "host", slot, time, 1, **known)  # type: ignore[arg-type]
        for slot, (name, time) in enumerate(reported.items())
    )
    latest = max(reported.values(), default=START)
    return MeterSnapshot(latest, tuple(threads), executors)


@dataclass(frozen=True)
class Second:
    """What s>a>k does in one second; `late` and `latency` are of its end."""

    taken: float = 100
    """Tuples that the source takes in, which is what it pushes into buffers."""
    handled: float | None = None
    """By `a`; None: as many as are taken."""
    out: float | None = None
    """At the sink; None: as many as `a` handles."""
    busy: float = 0.4
    """The part of the second that `a` works."""
    late: float = 0.0
    """How long ago the source's last tuple was due, s."""
    latency: float = 0.02
    """Of the tuples at the sink, s."""
    passed: float = 1.0
    """Tuples that `a` emits per tuple."""
    next_in: float | None = None
    """When the source's next tuple is due, in s from the end on; None: it does not know."""


def story(seconds: Sequence[Second]) -> list[MeterSnapshot]:
    """Of the three threads of s>a>k, in one executor: one snapshot before, and one per second."""
    taken = handled = out = emitted = 0.0
    busy, latencies = 0.0, np.zeros(sketch.BUCKETS, np.int64)
    late = max(2 * seconds[0].late - seconds[1].late, 0.005)  # as if it had been going on
    found = [_of_chain(0, (0, 0, 0, 0), 0.0, (START - late, None), latencies)]
    for number, second in enumerate(seconds, start=1):
        own = second.taken if second.handled is None else second.handled
        at_sink = own * second.passed if second.out is None else second.out
        taken, handled, out = taken + second.taken, handled + own, out + at_sink
        emitted, busy = emitted + own * second.passed, busy + second.busy
        latencies = latencies.copy()
        latencies[sketch.bucket(second.latency)] += round(at_sink)
        next_due = None if second.next_in is None else START + number + second.next_in
        due = START + number - max(second.late, 0.005), next_due
        found.append(_of_chain(number, (taken, handled, emitted, out), busy, due, latencies))
    return found


def _of_chain(
    number: int,
    counted: tuple[float, float, float, float],
    busy: float,
    due: tuple[float, float | None],
    latencies: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> MeterSnapshot:
    taken, handled, emitted, out = map(round, counted)
    threads = [
        meter(0, arrivals=taken, emitted=taken, timed=taken, last_due=due[0], next_due=due[1]),
        meter(1, arrivals=handled, emitted=emitted, timed=handled, busy_seconds=busy),
        meter(2, arrivals=out, emitted=out, timed=out, latencies=latencies),
    ]
    return snapshot(threads, {"a": START + number})
