"""What a run leaves behind: sums, a time series and a latency sketch, in bounded memory.

A visit (one tuple at one thread) counts towards means and rates if the *input* that caused it
arrived within [warm_up, end). The time series counts all that happens before `end`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.kernels.world import Table, World, outboxes, pairs
from slotwise.sketch import BUCKETS, LOWEST, SHIFT, SHORTEST_S, quantile_s

Row = Any

_OPERATOR = np.dtype(
    [
        ("network", "f8"),
        ("lost", "i8"),
        ("resent", "i8"),
        # Of threads that a change of plan took away; see `visited`.
        ("handled", "i8"),
        ("waiting", "f8"),
        ("busy", "f8"),
        ("busy_squared", "f8"),
    ]
)
_VISITED = ("handled", "waiting", "busy", "busy_squared")
_THREAD = np.dtype(
    [
        ("handled", "i8"),
        ("waiting", "f8"),
        ("busy", "f8"),
        ("busy_squared", "f8"),  # of each visit
        ("blocked", "f8"),
    ]
)
_LINK = np.dtype(
    [
        ("sending", "f8"),  # seconds that tuples took the node's link out
        ("receiving", "f8"),  # seconds that tuples sent to it need its link in, lost or not
        ("held", "f8"),  # tuple-seconds in its receive buffer from the warm-up to the end
        ("most", "i8"),  # tuples that were ever in it together
        ("lost", "i8"),
        ("resent", "i8"),
    ]
)
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
    """tuples by how far they went (routing.distance), and"""
    sent: NDArray[np.int64]
    """tuples per stream, in the world's order."""
    links: Table
    """Per node; all 0: links have no bandwidth."""
    turns: NDArray[np.int64]
    """Per outbox (under_way.State), tuples that were put into it."""
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
        "sent": np.zeros(len(world.streams), np.int64),
        "links": np.zeros(1 + int(world.threads["node"].max()), _LINK),
        "turns": np.zeros(outboxes(world), np.int64),
    }


def visited(tally: Tally, world: World, field: str) -> NDArray[np.float64]:
    """Per operator, what its threads `handled`, how long they were `waiting` for or `busy`."""
    own = np.bincount(world.threads["operator"], tally.threads[field], len(world.operators))
    return np.asarray(own + tally.operators[field])


def without_threads(tally: Tally, old: World, new: World) -> Tally:
    """At a change of plan: figures per thread and of traffic start again."""
    for field in _VISITED:
        tally.operators[field] = visited(tally, old, field)
    return tally._replace(**per_thread(new))


def quantiles(tally: Tally, wanted: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
    """(q, seconds) of all tuples at sinks, from the sketch; empty if there were none."""
    largest_s = float(tally.largest[0])
    found = ((q, quantile_s(tally.sketch, q, largest_s)) for q in wanted)
    return tuple((q, seconds) for q, seconds in found if seconds is not None)


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
        sums.busy_squared += (end - start) * (end - start)
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
            tally.sent[stream.number] += 1


@part
def record_link_in(tally: Tally, node: int, root: float, seconds: float) -> None:
    """A tuple was sent that needs so much of a node's link in, once."""
    if root >= tally.warm_up:
        tally.links[node].receiving += seconds


@part
def record_link_out(tally: Tally, node: int, root: float, seconds: float) -> None:
    """A tuple took so much of a node's link out, now or again."""
    if root >= tally.warm_up:
        tally.links[node].sending += seconds


@part
def record_turn(tally: Tally, node: int, time_slot: int, stage: int, root: float) -> None:
    """A tuple needs a place in one of the node's turns."""
    if root >= tally.warm_up:
        tally.turns[node, time_slot, stage] += 1


@part
def record_held(tally: Tally, node: int, reached: float, taken_in: float, held: int) -> None:
    """A tuple was in a node's receive buffer, with `held` in all when it came."""
    link = tally.links[node]
    link.held += max(0.0, min(taken_in, tally.end) - max(reached, tally.warm_up))
    link.most = max(link.most, held)


@part
def record_dropped(tally: Tally, node: int, root: float, sent_again: bool) -> None:
    """A full receive buffer dropped a tuple."""
    if root >= tally.warm_up:
        link = tally.links[node]
        if sent_again:
            link.resent += 1
        else:
            link.lost += 1


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
        bucket = min((bits >> SHIFT) - LOWEST, BUCKETS - 1)
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
