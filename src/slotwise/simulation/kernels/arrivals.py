"""When sources emit: unit-rate processes per source thread, run through the rate schedule.

A thread's arrivals are counted in *nominal* time: what the clock would be at factor 1. The clock
time is the inverse of the schedule's integral, exact for its straight pieces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Plan, Schedule
from slotwise.paced import pace_of
from slotwise.rates import ArrivalRates
from slotwise.simulation.kernels.draws import ARRIVAL, exponential, number, unit
from slotwise.simulation.kernels.jit import kernel, part
from slotwise.simulation.options import Arrivals

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CONSTANT, POISSON, UNIFORM, TRACE = range(4)
LONGEST_S = 1e12
"""No simulation is this long: what has not come by then never comes."""
_KINDS = {"constant": CONSTANT, "poisson": POISSON, "uniform": UNIFORM, "trace": TRACE}


class Sources(NamedTuple):
    """The source threads' processes, and the schedule on top of them."""

    kind: int
    scheduled: bool
    """Otherwise every schedule is constant."""
    rate: Floats
    """Per thread (0: it is no source's), its nominal tuples/s; of a trace: its operator's."""
    phase: Floats
    """Per thread, [0] which of its operator's threads it is, [1] of how many."""
    trace: Floats
    """Arrival times in mean intervals."""
    follows: Integers
    """Per thread, which schedule it follows."""
    schedules: Floats
    """Per schedule, [0] clock times, [1] factors, [2] nominal seconds reached."""
    periods: Floats
    """Per schedule; 0: it does not repeat."""
    shares: Floats
    """Per schedule, the nominal tuples/s of all sources that follow it."""


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
    found = {
        operator: arrivals.schedule or _own_schedule(plan, operator)
        for operator in np.flatnonzero(emitting).tolist()
    }
    distinct = list(dict.fromkeys(found.values()))
    follows = np.zeros(len(emitting), dtype=np.int64)
    shares = np.zeros(len(distinct))
    for operator, schedule in found.items():
        follows[operator] = distinct.index(schedule)
        shares[follows[operator]] += rates.operators[operator]
    return Sources(
        kind=_KINDS[arrivals.kind],
        scheduled=distinct != [Schedule.constant()],
        rate=rate,
        phase=np.stack((place, places)).astype(np.float64),
        trace=_intervals(arrivals.trace_s),
        follows=follows[threads],
        schedules=_schedules(distinct),
        periods=np.array([schedule.period_s or 0.0 for schedule in distinct]),
        shares=shares,
    )


def _own_schedule(plan: Plan, operator: int) -> Schedule:
    pace = pace_of(plan.pipeline.topology.operators[operator])
    return (pace and pace.schedule) or Schedule.constant()


def _schedules(distinct: Sequence[Schedule]) -> Floats:
    """See Sources. The shorter ones repeat their last point, which changes nothing."""
    most = max(len(schedule.points) for schedule in distinct) + 1
    made = np.empty((len(distinct), 3, most))
    for position, schedule in enumerate(distinct):
        at_s, factor = schedule.points[-1]
        last = (max(at_s, schedule.period_s or 0.0), factor)
        points = (*schedule.points, *[last] * (most - len(schedule.points)))
        times, factors = np.array(points, dtype=np.float64).T
        pieces = np.diff(times) * (factors[1:] + factors[:-1]) / 2
        made[position] = times, factors, np.concatenate(([0.0], np.cumsum(pieces)))
    return made


def nominal_at(schedule: Floats, period: float, clock_s: float) -> float:
    """Nominal seconds that pass in the first `clock_s` seconds of the clock."""
    times, factors, reached = schedule
    rounds = math.floor(clock_s / period) if period else 0
    rest = clock_s - rounds * period
    piece = int(np.searchsorted(times, rest, side="right")) - 1
    into = rest - times[piece]
    nominal = reached[piece] + factors[piece] * into
    if piece + 1 < len(times) and times[piece + 1] > times[piece]:
        slope = (factors[piece + 1] - factors[piece]) / (times[piece + 1] - times[piece])
        nominal += slope * into * into / 2
    return float(rounds * reached[-1] + nominal)


def clock_after(sources: Sources, tuples: float) -> float:
    """The clock time at which all sources together have emitted so many tuples in the mean.

    Infinite if they never do. Between the schedule that gets there first and the last one, by
    bisection.
    """
    nominal = tuples / math.fsum(sources.shares)
    each = [
        float(clock_time(schedule, period, nominal))
        for schedule, period in zip(sources.schedules, sources.periods.tolist(), strict=True)
    ]
    early, late = min(each), max(each)
    if math.isinf(late) and math.isfinite(early):
        late = _doubled(sources, early, tuples)
    while late - early > 1e-9 * late:
        middle = (early + late) / 2
        if emitted_by(sources, middle) < tuples:
            early = middle
        else:
            late = middle
    return late


def _doubled(sources: Sources, clock_s: float, tuples: float) -> float:
    """A clock time at which so many tuples have been emitted, from `clock_s` on."""
    while emitted_by(sources, clock_s) < tuples:
        if clock_s > LONGEST_S:
            return math.inf
        clock_s *= 2
    return clock_s


def emitted_by(sources: Sources, clock_s: float) -> float:
    """Tuples that all sources have emitted in the mean."""
    return math.fsum(
        share * nominal_at(schedule, period, clock_s)
        for schedule, period, share in zip(
            sources.schedules, sources.periods.tolist(), sources.shares.tolist(), strict=True
        )
    )


def clocks_at(sources: Sources, keys: NDArray[np.uint64], clock_s: float) -> NDArray[Any]:
    """Per thread a CLOCK, of source threads at their first arrival from `clock_s` on."""
    clocks = np.zeros(len(sources.rate), CLOCK)
    clocks["next"] = np.inf
    for thread in np.flatnonzero(sources.rate > 0).tolist():
        if clock_s > 0:
            follows = sources.follows[thread]
            passed = nominal_at(sources.schedules[follows], sources.periods[follows], clock_s)
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
        follows = sources.follows[thread]
        clock.next = clock_time(sources.schedules[follows], sources.periods[follows], clock.next)


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
