"""The latency that DRS keeps below its bound: estimated by queues, corrected by measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from slotwise.model import Goals, Observation, Prediction
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
LEAST_PERIODS, UNKNOWN = 3, 0.5
"""With fewer periods it is not known how much a mean is off by chance: this part is assumed."""
SHARED = 0.85
"""Queues are shared where a figure is below this part of what a queue per thread makes it."""


@dataclass(frozen=True)
class Bound:
    """A goal for the latency, and how to estimate the figure for other plans.

    Paper 5 takes an operator's threads to serve one queue. Engines have a queue per thread, where
    tuples wait longer: that is estimated unless what is measured is well below it. Either estimate
    is multiplied by what is measured now over what is estimated now, as paper 5 adjusts processors
    by the sojourn time that it measures; unless the difference may be chance.
    """

    figure: str
    """A field of Goals."""
    limit_ms: float
    """Infinite: there is no such goal."""
    shared: bool = False
    """One queue per operator."""
    ratio: float = 1.0

    def estimate_ms(self, predicted: Prediction) -> float:
        return self.ratio * _estimate_ms(self.figure, predicted, self.shared)

    @property
    def mean_ms(self) -> float:
        """The mean that goes with the limit if times are exponential."""
        return self.limit_ms / FIGURES[self.figure][1]

    def compared(self, figure_ms: float) -> str:
        """`the mean sojourn time is about 562 ms of at most 500 ms`."""
        name = FIGURES[self.figure][0]
        if math.isinf(self.limit_ms):
            return f"the {name} is about {milliseconds(figure_ms)}"
        limit = milliseconds(self.limit_ms)
        return f"the {name} is about {milliseconds(figure_ms)} of at most {limit}"


def bound_of(goals: Goals, window: Sequence[Observation], predicted: Prediction) -> Bound:
    """The goal `sojourn_ms`, else `latency_ms`, else the percentile that is nearest to its limit or
    farthest beyond. `predicted` is the plan in effect as it is measured to be.
    """
    wanted = {
        figure: limit_ms for figure in FIGURES if (limit_ms := getattr(goals, figure)) is not None
    }
    if not wanted:
        return _corrected(Bound("sojourn_ms", math.inf), window, predicted)
    means = [figure for figure in MEANS if figure in wanted]
    bounds = [
        _corrected(Bound(figure, wanted[figure]), window, predicted)
        for figure in means[:1] or wanted
    ]
    return max(bounds, key=lambda bound: bound.estimate_ms(predicted) / bound.limit_ms)


def _corrected(bound: Bound, window: Sequence[Observation], predicted: Prediction) -> Bound:
    """With the queues and the ratio that what is measured suggests."""
    measured: list[float] = [
        ms for seen in window if (ms := getattr(seen, bound.figure)) is not None
    ]
    if not measured:
        return bound
    mean_ms, chance, finished = sum(measured) / len(measured), _chance(measured), _finished(window)
    own_ms, shared_ms = (_estimate_ms(bound.figure, predicted, shared) for shared in (False, True))
    shared = mean_ms < SHARED * (1 - chance) * own_ms and mean_ms <= FARTHEST * shared_ms
    estimate_ms = shared_ms if shared else own_ms
    if math.isinf(estimate_ms):
        return bound
    ratio = mean_ms / estimate_ms
    if finished > 1 + STEADY or (ratio > FARTHEST and finished > 1 - TOLERANCE):
        return bound  # a backlog is worked off
    if abs(ratio - 1) <= chance:
        ratio = 1.0
    return replace(bound, shared=shared, ratio=min(max(ratio, 1 / FARTHEST), FARTHEST))


def _chance(values: Sequence[float]) -> float:
    """By which part the mean may be off: two standard errors."""
    if len(values) < LEAST_PERIODS:
        return UNKNOWN
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return 2 * math.sqrt(variance / len(values)) / mean


def _estimate_ms(figure: str, predicted: Prediction, shared: bool) -> float:
    """Infinite where threads cannot keep up, or nothing ends at a sink."""
    if not shared:
        own_ms = getattr(predicted, figure)
        return math.inf if own_ms is None else float(own_ms)
    if figure == "sojourn_ms":
        return predicted.shared_queue_sojourn_ms
    latency_ms = predicted.shared_queue_latency_ms
    return math.inf if latency_ms is None else FIGURES[figure][1] * latency_ms


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
