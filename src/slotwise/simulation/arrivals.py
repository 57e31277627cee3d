"""When sources emit: unit-rate processes per source thread, run through the rate schedule.

A thread's arrivals are counted in *nominal* time: what the clock would be at factor 1. The clock
time is the inverse of the schedule's integral, exact for its straight pieces.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Plan
from slotwise.rates import ArrivalRates
from slotwise.simulation.draws import ARRIVAL, exponential, number, unit
from slotwise.simulation.kernel import kernel, part
from slotwise.simulation.options import Arrivals

Floats = NDArray[np.float64]

CONSTANT, POISSON, UNIFORM, TRACE = range(4)
_KINDS = {"constant": CONSTANT, "poisson": POISSON, "uniform": UNIFORM, "trace": TRACE}


class Sources(NamedTuple):
    """The source threads' processes, and the schedule on top of them."""

    kind: int
    scheduled: bool
    period: float
    """0: the schedule does not repeat."""
    rate: Floats
    """Per thread (0: it is no source's), its nominal tuples/s; of a trace: its operator's."""
    phase: Floats
    """Per thread, [0] which of its operator's threads it is, [1] of how many."""
    trace: Floats
    """Arrival times in mean intervals."""
    schedule: Floats
    """[0] clock times, [1] factors, [2] nominal seconds reached."""


CLOCK = np.dtype([("nominal", "f8"), ("next", "f8"), ("emitted", "i8")])
"""How far a source thread is: intervals counted, clock time of the next arrival, its number."""


def sources_of(plan: Plan, rates: ArrivalRates, arrivals: Arrivals) -> Sources:
    threads = plan.placement.thread_operator
    place = np.arange(len(threads)) - plan.allocation.first_thread[threads]
    places = plan.allocation.threads[threads]
    emitting = np.array([o.kind == "source" for o in plan.pipeline.topology.operators])
    rate = np.where(emitting[threads], rates.operators[threads], 0.0)
    if arrivals.kind != "trace":
        lean = np.where(places > 1, 1 - 2 * place / np.maximum(places - 1, 1), 0.0)
        rate = rate / places * (1 - arrivals.spread * lean)
    schedule = arrivals.schedule
    points = schedule.points if schedule else ((0.0, 1.0),)
    period = schedule.period_s if schedule and schedule.period_s else 0.0
    if period > points[-1][0]:
        points = (*points, (period, points[-1][1]))
    times, factors = np.array(points, dtype=np.float64).T
    pieces = np.diff(times) * (factors[1:] + factors[:-1]) / 2
    reached = np.concatenate(([0.0], np.cumsum(pieces)))
    return Sources(
        kind=_KINDS[arrivals.kind],
        scheduled=schedule is not None,
        period=float(period),
        rate=rate,
        phase=np.stack((place, places)).astype(np.float64),
        trace=_intervals(arrivals.trace_s),
        schedule=np.stack((times, factors, reached)),
    )


def nominal_at(sources: Sources, clock_s: float) -> float:
    """Nominal seconds that pass in the first `clock_s` seconds of the clock."""
    times, factors, reached = sources.schedule
    rounds = math.floor(clock_s / sources.period) if sources.period else 0
    rest = clock_s - rounds * sources.period
    piece = int(np.searchsorted(times, rest, side="right")) - 1
    into = rest - times[piece]
    nominal = reached[piece] + factors[piece] * into
    if piece + 1 < len(times) and times[piece + 1] > times[piece]:
        slope = (factors[piece + 1] - factors[piece]) / (times[piece + 1] - times[piece])
        nominal += slope * into * into / 2
    return float(rounds * reached[-1] + nominal)


def clocks_at(sources: Sources, keys: NDArray[np.uint64], clock_s: float) -> NDArray[Any]:
    """Per thread a CLOCK, of source threads at their first arrival from `clock_s` on."""
    clocks = np.zeros(len(sources.rate), CLOCK)
    clocks["next"] = np.inf
    passed = nominal_at(sources, clock_s)
    for thread in np.flatnonzero(sources.rate > 0).tolist():
        if clock_s > 0:
            clocks["nominal"][thread] = passed * sources.rate[thread]
            clocks["emitted"][thread] = _emitted_before(sources, thread, passed)
        advance(sources, clocks, keys[thread], thread)
    return clocks


def _emitted_before(sources: Sources, thread: int, passed: float) -> int:
    """Arrivals of a thread in `passed` nominal seconds; 0 where only the last interval matters."""
    place, places = int(sources.phase[0, thread]), int(sources.phase[1, thread])
    nominal = passed * float(sources.rate[thread])
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


@part
def advance(sources: Sources, clocks: NDArray[Any], key: np.uint64, thread: int) -> None:
    """Move a source thread's clock to its next arrival."""
    clock = clocks[thread]
    emitted = clock.emitted
    if sources.kind == POISSON:
        clock.nominal += exponential(number(key, ARRIVAL, emitted))
    elif sources.kind == UNIFORM:
        clock.nominal += 2 * unit(number(key, ARRIVAL, emitted))
    elif sources.kind == CONSTANT:
        clock.nominal = emitted + sources.phase[0, thread] / sources.phase[1, thread]
    else:
        entry = emitted * int(sources.phase[1, thread]) + int(sources.phase[0, thread])
        rounds, entry = divmod(entry, len(sources.trace))
        clock.nominal = rounds * len(sources.trace) + sources.trace[entry]
    clock.emitted = emitted + 1
    clock.next = clock.nominal / sources.rate[thread]
    if sources.scheduled:
        clock.next = clock_time(sources.schedule, sources.period, clock.next)


@kernel
def clock_time(schedule: Floats, period: float, nominal: float) -> float:
    """The clock time at which so many nominal seconds have passed; infinite if they never do."""
    times, factors, reached = schedule[0], schedule[1], schedule[2]
    start = 0.0
    last = len(times) - 1
    if period > 0:
        rounds = math.floor(nominal / reached[last])
        start = rounds * period
        nominal -= rounds * reached[last]
    piece = min(int(np.searchsorted(reached, nominal, side="right")) - 1, last)
    rest = nominal - reached[piece]
    if rest <= 0:
        return float(start + times[piece])
    factor, slope = factors[piece], 0.0
    if piece < last:
        slope = (factors[piece + 1] - factor) / (times[piece + 1] - times[piece])
    root = factor + math.sqrt(max(factor * factor + 2 * slope * rest, 0.0))
    return float(start + times[piece] + (2 * rest / root if root > 0 else np.inf))
