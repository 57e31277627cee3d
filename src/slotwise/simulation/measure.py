"""What a run leaves behind: sums, a time series and a latency sketch, in bounded memory.

A visit (one tuple at one thread) counts towards means and rates if the *input* that caused it
arrived within [warm_up, end). The time series counts all that happens before `end`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.simulation.world import World

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHORTEST_S = 1e-7
"""Latencies below 0.1 µs are counted as that."""
GROWTH = 1.0075
"""Each bucket of the sketch is 0.75 % wider than the one before."""
BUCKETS = 3200
"""So the last one is at 2,400 s; beyond, the largest latency stands for all."""
_PER_LOG = 1 / math.log(GROWTH)


class Tally(NamedTuple):
    warm_up: float
    threads_from: float
    """Figures per thread and traffic count inputs from here on: the last change of plan."""
    end: float
    per_window: float
    """Windows per second."""
    # Per operator.
    visits: Integers
    waiting: Floats
    service: Floats
    network: Floats
    lost: Integers
    resent: Integers
    # Per thread.
    handled: Integers
    busy: Floats
    blocked: Floats
    # Per window, or operator and window.
    roots: Integers
    sojourn: Floats
    sinks: Integers
    sink_latency: Floats
    completed: Integers
    queue: Floats
    """Tuple-seconds of waiting in windows that a wait begins or ends in."""
    queue_steps: Integers
    """Changes of the number of waits that cover a window from end to end."""
    # Others.
    sketch: Integers
    largest: Floats
    distances: Integers
    """Tuples by how far they went (routing.distance)."""
    pairs: Integers
    log: Floats
    """Visits as rows (thread, handled before, root, arrival, start, end); for the tests."""
    logged: Integers


def empty_tally(
    world: World, warm_up_s: float, end_s: float, windows: int, log_size: int = 0
) -> Tally:
    operators, threads = world.operators, world.threads
    return Tally(
        warm_up=warm_up_s,
        threads_from=warm_up_s,
        end=end_s,
        per_window=windows / end_s,
        visits=np.zeros(operators, np.int64),
        waiting=np.zeros(operators),
        service=np.zeros(operators),
        network=np.zeros(operators),
        lost=np.zeros(operators, np.int64),
        resent=np.zeros(operators, np.int64),
        handled=np.zeros(threads, np.int64),
        busy=np.zeros(threads),
        blocked=np.zeros(threads),
        roots=np.zeros(windows, np.int64),
        sojourn=np.zeros(windows),
        sinks=np.zeros(windows, np.int64),
        sink_latency=np.zeros(windows),
        completed=np.zeros((operators, windows), np.int64),
        queue=np.zeros((operators, windows)),
        queue_steps=np.zeros((operators, windows + 1), np.int64),
        sketch=np.zeros(BUCKETS, np.int64),
        largest=np.zeros(1),
        distances=np.zeros(4, np.int64),
        pairs=np.zeros(world.pairs, np.int64),
        log=np.zeros((log_size, 6)),
        logged=np.zeros(1, np.int64),
    )


def quantiles(tally: Tally, wanted: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """(q, seconds): the middle of the bucket that holds the q-th part of all tuples."""
    total = int(tally.sketch.sum())
    if total == 0:
        return ()
    reached = np.cumsum(tally.sketch)
    found = []
    for q in wanted:
        bucket = int(np.searchsorted(reached, max(1, math.ceil(q * total))))
        middle = SHORTEST_S * GROWTH ** (bucket - 0.5) if bucket else 0.0
        found.append((q, min(middle, float(tally.largest[0]))))
    return tuple(found)


@njit(cache=True, inline="always")
def window_of(tally: Tally, time: float) -> int:
    return min(int(time * tally.per_window), len(tally.roots) - 1)


@njit(cache=True, inline="always")
def record_visit(
    world: World,
    tally: Tally,
    operator: int,
    thread: int,
    handled: int,
    root: float,
    arrival: float,
    start: float,
    end: float,
) -> None:
    """One tuple was handled; called once for each, after its network time was recorded."""
    window = window_of(tally, root)
    tally.sojourn[window] += end - arrival
    if world.source[operator]:
        tally.roots[window] += 1
    counts = root >= tally.warm_up
    if counts:
        tally.visits[operator] += 1
        tally.waiting[operator] += start - arrival
        tally.service[operator] += end - start
        if root >= tally.threads_from:
            tally.handled[thread] += 1
            tally.busy[thread] += end - start
    if world.leaf[operator]:
        tally.sinks[window] += 1
        tally.sink_latency[window] += end - root
        if counts:
            _sketch(tally, end - root)
    if start > arrival:
        _record_waiting(tally, operator, arrival, start)
    if end < tally.end:
        tally.completed[operator, window_of(tally, end)] += 1
    if tally.logged[0] < len(tally.log):
        row = tally.log[tally.logged[0]]
        row[0], row[1], row[2], row[3], row[4], row[5] = thread, handled, root, arrival, start, end
        tally.logged[0] += 1


@njit(cache=True, inline="always")
def record_sent(
    world: World, tally: Tally, stream: int, sender: int, thread: int, root: float, far: int
) -> None:
    """One tuple was sent from `sender` to `thread`, which are `far` apart."""
    if root >= tally.threads_from:
        tally.distances[far] += 1
        if len(tally.pairs):
            target = world.target[stream]
            width = world.first[target + 1] - world.first[target]
            row = sender - world.first[world.operator[sender]]
            tally.pairs[world.pair[stream] + row * width + thread - world.first[target]] += 1


@njit(cache=True, inline="always")
def record_travel(tally: Tally, operator: int, root: float, seconds: float) -> None:
    """A tuple took so long on its way to the operator."""
    tally.sojourn[window_of(tally, root)] += seconds
    if root >= tally.warm_up:
        tally.network[operator] += seconds


@njit(cache=True)
def _sketch(tally: Tally, seconds: float) -> None:
    bucket = 0
    if seconds > SHORTEST_S:
        bucket = min(1 + int(math.log(seconds / SHORTEST_S) * _PER_LOG), BUCKETS - 1)
    tally.sketch[bucket] += 1
    if seconds > tally.largest[0]:
        tally.largest[0] = seconds


@njit(cache=True)
def _record_waiting(tally: Tally, operator: int, arrival: float, start: float) -> None:
    """The wait's part of each window it touches, in constant time."""
    if arrival >= tally.end:
        return
    start = min(start, tally.end)
    first, last = window_of(tally, arrival), window_of(tally, start)
    if first == last:
        tally.queue[operator, first] += start - arrival
        return
    tally.queue[operator, first] += (first + 1) / tally.per_window - arrival
    tally.queue[operator, last] += start - last / tally.per_window
    tally.queue_steps[operator, first + 1] += 1
    tally.queue_steps[operator, last] -= 1
