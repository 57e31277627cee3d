"""What came due, what came out, and what each thread was asked for.

The meters see what a thread did, not what it was asked for. So the work that a thread is asked for
is its busy time times what came due for it ÷ what it handled.
"""

from __future__ import annotations

import math

import numpy as np

from slotwise import sketch
from slotwise.model.goals import TOLERANCE
from slotwise.spark.metering.counters import Floats
from slotwise.spark.metering.loads import Loads

PAUSE_S = 1.0
"""Meters report each second, and real-time mode pauses for up to a second between two batches."""
FEW_TUPLES = round(1 / TOLERANCE)
"""A sink that fewer tuples came due for in the window does not show a rate."""


def due_rates(loads: Loads) -> Floats:
    """Per thread, tuples/s that came due at it; 0 for threads that are not of a source.

    A source that has taken in all that was due until some moment, and now until a later one, was
    asked for its arrivals in the time between the two: none while it pauses, as its schedule says,
    or after its last record. Of a topic it is what was written to it. Where that is not known, or
    no time is between them (it is held up), it is an even part of the source's share of the rate
    that is asked for now.
    """
    counted, owners = loads.counted, loads.watched.plan.allocation.thread_operator
    nominal = loads.watched.nominal_rate * loads.shares / np.array(loads.layout.threads)
    found = np.divide(
        counted.sums["arrivals"],
        counted.due_seconds,
        out=nominal[owners],
        where=counted.due_seconds > 0,
    )
    for source, rate in counted.written.items():
        found[owners == source] = rate / loads.layout.threads[source]
    return np.where(loads.shares[owners] > 0, found, 0.0)


def offered_rate(loads: Loads, due: Floats) -> float:
    """The input rate that sources were asked for: the nominal one, or what came due per second."""
    if not loads.watched.is_scheduled:
        return loads.watched.nominal_rate
    return float(due.sum() / loads.shares.sum())


def backlog(loads: Loads, due: Floats) -> float | None:
    """Tuples that were due at the last report and not yet taken in; None if that is not known of
    some source thread.

    It is, per source thread, the time until which it has taken in all, to now, × the rate at which
    tuples come due there: an estimate where that rate varies, right to a tuple where it is
    constant. Of a topic it is what is left in it.
    """
    owners, topics = loads.watched.plan.allocation.thread_operator, loads.after.topics
    left = [topic.left for topic in topics.values()]
    sources = (loads.shares[owners] > 0) & ~np.isin(owners, list(topics))
    # A batch is over before its executors report that.
    now = np.fmin(loads.after.reported, loads.after.time)
    late_s = (now - loads.after.taken_until)[sources]
    if np.isnan(late_s).any() or None in left:
        return None
    estimated = float(np.floor(np.maximum(late_s, 0.0) * due[sources]).sum())
    return estimated + math.fsum(each for each in left if each is not None)


def throughput(loads: Loads) -> float | None:
    """Inputs/s that the whole pipeline finishes: the lowest, over its sinks, of tuples out ÷ tuples
    that one input causes there; None if an input causes none at any sink.
    """
    caused = loads.caused_by_one
    sinks = _telling_sinks(loads, caused * loads.watched.nominal_rate)
    return min((float(loads.handled[i] / caused[i]) for i in sinks), default=None)


def unfinished(loads: Loads, due: Floats) -> float:
    """What came due ÷ what came out, at the sink where that is highest; see `due_to_handled`."""
    expected = loads.caused(loads.of_operators(due))
    ratios = due_to_handled(loads, expected)
    return max((float(ratios[i]) for i in _telling_sinks(loads, expected)), default=1.0)


def gains(loads: Loads, due: Floats) -> bool:
    """More came out at every sink than came due, by more than chance: a backlog shrinks."""
    expected = loads.caused(loads.of_operators(due))
    more = (loads.handled - expected) * loads.window_s > _by_chance(loads, expected)
    return all(more[i] for i in _telling_sinks(loads, expected))


def asked_of_threads(loads: Loads, due: Floats) -> Floats:
    """Per thread, the work that it is asked for per second, in seconds.

    No thread is busy for more than all of the time. A service that began before the window counts
    in it whole, which in a short window of slow services is more than that.
    """
    ratios = due_to_handled(loads, loads.caused(loads.of_operators(due)))
    busy = np.minimum(loads.busy_by_thread, 1.0)
    return np.asarray(busy * ratios[loads.watched.plan.allocation.thread_operator])


def due_to_handled(loads: Loads, expected: Floats) -> Floats:
    """Per operator, the tuples that came due for it ÷ those that it handled.

    What is missing by chance does not count as due.
    """
    due, handled = expected * loads.window_s, loads.handled * loads.window_s
    missing = np.maximum(due - handled - _by_chance(loads, expected), 0.0)
    counted = np.maximum(handled, 1.0)
    return np.where(due > handled, 1 + missing / counted, due / counted)


def _by_chance(loads: Loads, expected: Floats) -> Floats:
    """Tuples that an operator may have handled more or less than came due in the window: TOLERANCE
    of them, those of a pause at one of its ends, and three standard deviations of a Poisson count.
    """
    due = expected * loads.window_s
    return np.asarray(due * TOLERANCE + expected * _pause_s(loads) + 3 * np.sqrt(due))


def _pause_s(loads: Loads) -> float:
    """The longest time without a tuple that is usual. Micro-batches put out all their tuples at the
    end, so there it is about the time that a tuple takes.
    """
    if loads.watched.mode == "real-time":
        return PAUSE_S
    return PAUSE_S + (sketch.mean_s(loads.counted.latencies) or 0.0)


def _telling_sinks(loads: Loads, expected: Floats) -> list[int]:
    """The operators without outputs where tuples are due; without those where they are few, unless
    that is everywhere.
    """
    sinks = [
        i for i, outputs in enumerate(loads.topology.outputs) if not outputs and expected[i] > 0
    ]
    return [i for i in sinks if expected[i] * loads.window_s >= FEW_TUPLES] or sinks
