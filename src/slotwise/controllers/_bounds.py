"""The latency that DRS keeps below its bound, and how it goes with the estimated sojourn time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slotwise.model import Goals, Observation
from slotwise.model.goals import TOLERANCE

FIGURES = {
    "sojourn_ms": ("mean sojourn time", 1.0),
    "latency_ms": ("mean latency", 1.0),
    "latency_p99_ms": ("p99 latency", math.log(100)),
    "latency_p95_ms": ("p95 latency", math.log(20)),
    "latency_p50_ms": ("p50 latency", math.log(2)),
}
"""Each with what it would be, as a multiple of the mean, if times were exponential."""
MEANS = ("sojourn_ms", "latency_ms")
FARTHEST = 4.0
"""A figure that is more than so many times the estimate is of a queue that grows or shrinks."""
STEADY = 0.1
"""Throughput and input rate differ by no more than this part while queues stay as they are."""


@dataclass(frozen=True)
class Bound:
    """A goal for the latency, and how many times the estimated E[T] the figure is.

    Paper 5 adjusts processors by the sojourn time that is measured, since the estimate leaves out
    the network, and that every thread has a queue of its own: both go together, so what is measured
    now, over what is estimated now, is the ratio for other divisions, too. It takes every goal for
    a latency to E[T]: that is for means; percentiles are as of exponential times where nothing is
    measured, or a backlog is being worked off.
    """

    figure: str
    """A field of Goals."""
    limit_ms: float
    """Infinite: there is no such goal."""
    ratio: float = 1.0

    def compared(self, figure_ms: float) -> str:
        """`the mean sojourn time is about 562 ms of at most 500 ms`."""
        name = FIGURES[self.figure][0]
        if math.isinf(self.limit_ms):
            return f"the {name} is about {milliseconds(figure_ms)}"
        limit = milliseconds(self.limit_ms)
        return f"the {name} is about {milliseconds(figure_ms)} of at most {limit}"


def bound_of(goals: Goals, window: Sequence[Observation], estimate_ms: float) -> Bound:
    """The goal `sojourn_ms`, else `latency_ms`, else the percentile that is missed by most."""
    wanted = {
        figure: limit_ms for figure in FIGURES if (limit_ms := getattr(goals, figure)) is not None
    }
    bounds = [
        Bound(figure, limit_ms, _ratio(figure, window, estimate_ms))
        for figure, limit_ms in wanted.items()
    ]
    for bound in bounds:
        if bound.figure in MEANS:
            return bound
    if bounds:
        return max(bounds, key=lambda bound: bound.ratio / bound.limit_ms)
    return Bound("sojourn_ms", math.inf, _ratio("sojourn_ms", window, estimate_ms))


def _ratio(figure: str, window: Sequence[Observation], estimate_ms: float) -> float:
    usual = FIGURES[figure][1]
    measured: list[float] = [ms for seen in window if (ms := getattr(seen, figure)) is not None]
    if not measured or math.isinf(estimate_ms):
        return usual
    ratio, finished = sum(measured) / len(measured) / estimate_ms, _finished(window)
    too_long = ratio > usual * FARTHEST
    if finished > 1 + STEADY or (too_long and finished > 1 - TOLERANCE):
        return usual  # a backlog is worked off
    return min(max(ratio, usual / FARTHEST), usual * FARTHEST)


def _finished(window: Sequence[Observation]) -> float:
    """Throughput for each input; 1 where it is not known."""
    rates = [(s.throughput, s.offered_rate) for s in window if s.throughput is not None]
    asked = sum(rate for _, rate in rates)
    return sum(throughput for throughput, _ in rates) / asked if asked > 0 else 1.0


def milliseconds(value: float) -> str:
    """With three digits at least.

    >>> milliseconds(1234.5), milliseconds(12.345)
    ('1,234 ms', '12.3 ms')
    """
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"
