"""What a run leaves behind: sums, a time series and a latency sketch, in bounded memory.

A visit (one tuple at one thread) counts towards means and rates if the *input* that caused it
arrived within [warm_up, end). The time series counts all that happens before `end`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernel import kernel, part
from slotwise.simulation.world import Table, World, pairs

Row = Any

SHORTEST_S = 2.0**-24
"""Latencies below 0.06 µs are counted as that, those above 18 hours as that."""
_SHIFT = 45
"""A bucket of the sketch is a number's exponent and the first 7 bits behind its leading one, so
each is at most 1/128 wider than its lower end."""
_LOWEST = int(np.float64(SHORTEST_S).view(np.int64)) >> _SHIFT
BUCKETS = (int(np.float64(2.0**16).view(np.int64)) >> _SHIFT) - _LOWEST + 1

_OPERATOR = np.dtype(
    [
        ("network", "f8"),
        ("lost", "i8"),
        ("resent", "i8"),
        # Of threads that a change of plan took away; see `visited`.
        ("handled", "i8"),
        ("waiting", "f8"),
        ("busy", "f8"),
    ]
)
_THREAD = np.dtype([("handled", "i8"), ("waiting", "f8"), ("busy", "f8"), ("blocked", "f8")])
_WINDOW = np.dtype([("roots", "i8"), ("sojourn", "f8"), ("sinks", "i8"), ("sink_latency", "f8")])
_CELL = np.dtype(
    [
        ("completed", "i8"),
        ("queue", "f8"),  # tuple-seconds of waits that begin or end in the window
        ("covering", "i8"),  # change of the number of waits that cover windows from here on
    ]
)


class Tally(NamedTuple):
    warm_up: float
    end: float
    per_window: float
    """Windows per second."""
    operators: Table
    threads: Table
    windows: Table
    cells: Table
    """[operator, window]."""
    sketch: NDArray[np.int64]
    largest: NDArray[np.float64]
    pairs: NDArray[np.int64]
    """Tuples between threads (stream.pair); empty: too many pairs, then"""
    distances: NDArray[np.int64]
    """tuples by how far they went (routing.distance)."""
    log: NDArray[np.float64]
    """Visits as rows (thread, handled before, root, arrival, start, end)."""
    logged: NDArray[np.int64]


def empty_tally(world: World, warm_up_s: float, end_s: float, windows: int, log_size: int) -> Tally:
    return Tally(
        warm_up=warm_up_s,
        end=end_s,
        per_window=windows / end_s,
        operators=np.zeros(len(world.operators), _OPERATOR),
        **per_thread(world),
        windows=np.zeros(windows, _WINDOW),
        cells=np.zeros((len(world.operators), windows), _CELL),
        sketch=np.zeros(BUCKETS, np.int64),
        largest=np.zeros(1),
        log=np.zeros((log_size, 6)),
        logged=np.zeros(1, np.int64),
    )


def per_thread(world: World) -> dict[str, Any]:
    """The tally's figures per thread, and of traffic, at nothing."""
    return {
        "threads": np.zeros(len(world.threads), _THREAD),
        "distances": np.zeros(4, np.int64),
        "pairs": np.zeros(pairs(world), np.int64),
    }


def visited(tally: Tally, world: World, field: str) -> NDArray[np.float64]:
    """Per operator, what its threads `handled`, or how long they were `waiting` for or `busy`."""
    own = np.bincount(world.threads["operator"], tally.threads[field], len(world.operators))
    return np.asarray(own + tally.operators[field])


def without_threads(tally: Tally, old: World, new: World) -> Tally:
    """At a change of plan: figures per thread and of traffic start again."""
    for field in ("handled", "waiting", "busy"):
        tally.operators[field] = visited(tally, old, field)
    return tally._replace(**per_thread(new))


def quantiles(tally: Tally, wanted: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """(q, seconds): the middle of the bucket that holds the q-th part of all tuples."""
    total = int(tally.sketch.sum())
    if total == 0:
        return ()
    reached = np.cumsum(tally.sketch)
    found = []
    for q in wanted:
        bucket = int(np.searchsorted(reached, max(1, math.ceil(q * total))))
        edges = (np.arange(bucket, bucket + 2) + _LOWEST << _SHIFT).view(np.float64)
        largest = float(tally.largest[0])
        found.append((q, largest if bucket == BUCKETS - 1 else min(float(edges.mean()), largest)))
    return tuple(found)


@part
def window_of(tally: Tally, time: float) -> int:
    return min(int(time * tally.per_window), len(tally.windows) - 1)


@part
def record_visit(
    tally: Tally,
    operator: int,
    own: Row,
    thread: int,
    handled: int,
    root: float,
    arrival: float,
    start: float,
    end: float,
) -> None:
    """One tuple was handled; `own` is the operator's row in the world."""
    last = len(tally.windows) - 1
    window = tally.windows[min(int(root * tally.per_window), last)]
    window.sojourn += end - arrival
    if own.source:
        window.roots += 1
    if root >= tally.warm_up:
        sums = tally.threads[thread]
        sums.handled += 1
        sums.waiting += start - arrival
        sums.busy += end - start
    if own.leaf:
        window.sinks += 1
        window.sink_latency += end - root
        if root >= tally.warm_up:
            _sketch(tally.sketch, tally.largest, end - root)
    # Also where it did not wait: which of them do is hard to foresee for a processor.
    if arrival < tally.end:
        _record_waiting(tally.cells[operator], tally.per_window, arrival, min(start, tally.end))
    if end < tally.end:
        tally.cells[operator, min(int(end * tally.per_window), last)].completed += 1
    if len(tally.log):
        _log(tally.log, tally.logged, thread, handled, root, arrival, start, end)


@part
def record_sent(
    tally: Tally, stream: Row, sender_place: int, thread: int, root: float, far: int
) -> None:
    """One tuple was sent to `thread`, which is `far` away."""
    if root >= tally.warm_up:
        if len(tally.pairs):
            tally.pairs[stream.pair + sender_place * stream.width + thread - stream.first] += 1
        else:
            tally.distances[far] += 1


@part
def record_travel(tally: Tally, operator: int, root: float, seconds: float) -> None:
    """A tuple took so long on its way to the operator."""
    if seconds > 0:
        tally.windows[window_of(tally, root)].sojourn += seconds
        if root >= tally.warm_up:
            tally.operators[operator].network += seconds


@part
def _sketch(sketch: NDArray[np.int64], largest: NDArray[np.float64], seconds: float) -> None:
    bucket = 0
    if seconds > SHORTEST_S:
        bits = int(np.float64(seconds).view(np.int64))
        bucket = min((bits >> _SHIFT) - _LOWEST, BUCKETS - 1)
    sketch[bucket] += 1
    if seconds > largest[0]:
        largest[0] = seconds


@part
def _record_waiting(cells: Table, per_window: float, arrival: float, start: float) -> None:
    """The wait's part of each window it touches, in constant time."""
    first = min(int(arrival * per_window), len(cells) - 1)
    last = min(int(start * per_window), len(cells) - 1)
    if first == last:
        cells[first].queue += start - arrival
        return
    cells[first].queue += (first + 1) / per_window - arrival
    cells[last].queue += start - last / per_window
    cells[first + 1].covering += 1
    cells[last].covering -= 1


@kernel
def _log(
    log: NDArray[np.float64],
    logged: NDArray[np.int64],
    thread: int,
    handled: int,
    root: float,
    arrival: float,
    start: float,
    end: float,
) -> None:
    if logged[0] < len(log):
        row = log[logged[0]]
        row[0], row[1], row[2], row[3], row[4], row[5] = thread, handled, root, arrival, start, end
        logged[0] += 1
