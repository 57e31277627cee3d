"""When sources emit: unit-rate processes per source thread, run through the rate schedule.

A thread's arrivals are counted in *nominal* time: what the clock would be at factor 1. The clock
time is the inverse of the schedule's integral, exact for its straight pieces.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Plan
from slotwise.rates import ArrivalRates
from slotwise.simulation.draws import ARRIVAL, exponential, number, unit
from slotwise.simulation.options import Arrivals

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONSTANT, POISSON, UNIFORM, TRACE = range(4)
_KINDS = {"constant": CONSTANT, "poisson": POISSON, "uniform": UNIFORM, "trace": TRACE}


class Sources(NamedTuple):
    """Per thread (0 rate where it is no source's): its process; and the schedule as arrays."""

    kind: int
    rate: Floats
    """Nominal tuples/s of the thread; of a trace: of its operator."""
    place: Integers
    """Which of its operator's threads it is."""
    places: Integers
    trace: Floats
    """Arrival times in mean intervals."""
    times: Floats
    factors: Floats
    reached: Floats
    """Nominal seconds reached at each of `times`."""
    period: float
    """0: the schedule does not repeat."""
    scheduled: bool


class Clocks(NamedTuple):
    """Per thread, how far its process is."""

    nominal: Floats
    """Intervals counted so far."""
    emitted: Integers
    next: Floats
    """Clock time of the next arrival."""


def sources_of(plan: Plan, rates: ArrivalRates, arrivals: Arrivals) -> Sources:
    threads = plan.placement.thread_operator
    place = np.arange(len(threads)) - plan.allocation.first_thread[threads]
    places = plan.allocation.threads[threads]
    emitting = np.array([o.kind == "source" for o in plan.pipeline.topology.operators])
    rate = np.where(emitting[threads], rates.operators[threads], 0.0)
    if arrivals.kind != "trace":
        lean = 1 - 2 * place / np.maximum(places - 1, 1)
        rate = rate / places * np.where(places > 1, 1 - arrivals.spread * lean, 1.0)
    schedule = arrivals.schedule
    points = schedule.points if schedule else ((0.0, 1.0),)
    period = schedule.period_s if schedule and schedule.period_s else 0.0
    if period > points[-1][0]:
        points = (*points, (period, points[-1][1]))
    times, factors = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    pieces = np.diff(times) * (factors[1:] + factors[:-1]) / 2
    reached = np.concatenate(([0.0], np.cumsum(pieces)))
    return Sources(
        _KINDS[arrivals.kind],
        rate,
        place,
        places,
        _intervals(arrivals.trace_s),
        times,
        factors,
        reached,
        float(period),
        schedule is not None,
    )


def nominal_at(sources: Sources, clock_s: float) -> float:
    """Nominal seconds that pass in the first `clock_s` seconds of the clock."""
    rounds = math.floor(clock_s / sources.period) if sources.period else 0
    rest = clock_s - rounds * sources.period
    piece = int(np.searchsorted(sources.times, rest, side="right")) - 1
    into = rest - sources.times[piece]
    nominal = sources.reached[piece] + sources.factors[piece] * into
    if piece + 1 < len(sources.times):
        length = sources.times[piece + 1] - sources.times[piece]
        rise = sources.factors[piece + 1] - sources.factors[piece]
        nominal += rise / length * into * into / 2 if length > 0 else 0.0
    return float(rounds * sources.reached[-1] + nominal)


def clocks_at(sources: Sources, keys: NDArray[np.uint64], clock_s: float) -> Clocks:
    """Every source thread just before its first arrival from `clock_s` on."""
    threads = len(sources.rate)
    clocks = Clocks(np.zeros(threads), np.zeros(threads, np.int64), np.full(threads, np.inf))
    passed = nominal_at(sources, clock_s)
    for thread in np.flatnonzero(sources.rate > 0).tolist():
        if clock_s > 0:
            clocks.nominal[thread] = passed * sources.rate[thread]
            clocks.emitted[thread] = _emitted_before(sources, thread, clocks.nominal[thread])
        advance(sources, clocks, keys[thread], thread)
    return clocks


def _emitted_before(sources: Sources, thread: int, nominal: float) -> int:
    """Arrivals of a thread before `nominal`; of processes without memory it does not matter."""
    place, places = int(sources.place[thread]), int(sources.places[thread])
    if sources.kind == CONSTANT:
        return max(0, math.ceil(nominal - place / places))
    if sources.kind == TRACE:
        rounds, rest = divmod(nominal, len(sources.trace))
        entries = int(rounds) * len(sources.trace) + int(np.searchsorted(sources.trace, rest))
        return max(0, -(-(entries - place) // places))
    return 0


def _intervals(trace_s: tuple[float, ...]) -> Floats:
    """The trace in mean intervals; from its last arrival to the first of the next round is one."""
    if not trace_s:
        return np.empty(0)
    times = np.array(trace_s, dtype=np.float64) - trace_s[0]
    return np.asarray(times / (times[-1] / (len(times) - 1)))


@njit(cache=True)
def advance(sources: Sources, clocks: Clocks, key: np.uint64, thread: int) -> None:
    """Move a source thread's clock to its next arrival."""
    emitted = clocks.emitted[thread]
    clocks.emitted[thread] = emitted + 1
    if sources.kind == POISSON:
        nominal = clocks.nominal[thread] + exponential(number(key, ARRIVAL, emitted))
    elif sources.kind == UNIFORM:
        nominal = clocks.nominal[thread] + 2 * unit(number(key, ARRIVAL, emitted))
    elif sources.kind == CONSTANT:
        nominal = emitted + sources.place[thread] / sources.places[thread]
    else:
        entry = emitted * sources.places[thread] + sources.place[thread]
        rounds, entry = divmod(entry, len(sources.trace))
        nominal = rounds * len(sources.trace) + sources.trace[entry]
    clocks.nominal[thread] = nominal
    clocks.next[thread] = clock_time(sources, nominal / sources.rate[thread])


@njit(cache=True)
def clock_time(sources: Sources, nominal: float) -> float:
    """The clock time at which so many nominal seconds have passed; infinite if they never do."""
    if not sources.scheduled:
        return nominal
    start = 0.0
    last = len(sources.times) - 1
    if sources.period > 0:
        rounds = math.floor(nominal / sources.reached[last])
        start = rounds * sources.period
        nominal -= rounds * sources.reached[last]
    piece = min(np.searchsorted(sources.reached, nominal, side="right") - 1, last)
    rest = nominal - sources.reached[piece]
    factor = sources.factors[piece]
    slope = 0.0
    if piece < last:
        slope = (sources.factors[piece + 1] - factor) / (
            sources.times[piece + 1] - sources.times[piece]
        )
    if rest == 0:
        return start + sources.times[piece]
    root = factor + math.sqrt(max(factor * factor + 2 * slope * rest, 0.0))
    return start + sources.times[piece] + (2 * rest / root if root > 0 else np.inf)
