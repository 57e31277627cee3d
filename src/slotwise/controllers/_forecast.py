"""What the input rate will be: by the forecast that was best lately, and how far it may be off.

Three forecasts: the last value goes on; the trend of the last minutes goes on; it will be as at the
same time of the last period, a day say, scaled to what the last minutes had. Each is tried on
the past: from every moment of the last half hour, LEAD_S and FAR_S ahead. A forecast that needs
more must be clearly better than one that needs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAD_S, FAR_S = 60.0, 300.0
TREND_S = 600.0
TRIED_S = 1800.0
BETTER = 0.85
"""A forecast that needs more is taken if its error is at most this part of the other's."""
DEVIATIONS = 2.0
"""The rate is above the forecast by more than so many standard deviations in 2 of 100 periods, if
errors are normal."""
PER_DEVIATION = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation. The median leaves
out steps and bursts, which are no spread: they are met by the next decision."""
LEVELS_S = (60.0, 180.0, 600.0)
SAME = 0.05
"""Rates that differ by no more than this part are of one level."""
FEW_CHANGES = 5
"""A step that falls into two periods is not most of so many changes."""
AGREES, JUMP = 1.5, 4.0
"""Rates that differ by more standard deviations of the noise are of another level."""


@dataclass(frozen=True)
class Forecast:
    """Of the input rate, tuples/s, in periods from now on."""

    method: str
    period_s: float
    expected: tuple[float, ...]
    """At the end of each period to come."""
    margin: float
    """By so much more it may well be."""
    settled: bool = True
    """False: the rate has jumped, and the last periods do not agree yet on where to."""

    def high(self, within_s: float | None = None) -> float:
        """The highest rate to reckon with, in all of the time or so many seconds."""
        periods = len(self.expected) if within_s is None else round(within_s / self.period_s)
        return max(self.expected[: max(1, periods)]) + self.margin

    def at_least(self, rate: float) -> Forecast:
        """The same, where at least `rate` must be reckoned with at any time."""
        expected = tuple(max(each, rate - self.margin) for each in self.expected)
        return replace(self, expected=expected)

    def points(self, seconds: float) -> list[tuple[float, float]]:
        """(seconds from now, rate to reckon with), for so long."""
        periods = max(1, round(seconds / self.period_s))
        rates = self.expected[:periods]
        return [(0.0, rates[0] + self.margin)] + [
            ((n + 1) * self.period_s, rate + self.margin) for n, rate in enumerate(rates)
        ]


def forecast(
    rates: Sequence[tuple[float, float]], period_s: float, ahead_s: float, season_s: float
) -> Forecast:
    """For the next `ahead_s` seconds, from (end of the period, rate) of the past, newest last, at
    least one. O(periods of the last season + tried moments × periods of a trend).
    """
    past = _Past.of(rates, period_s, season_s)
    methods: list[_Last | _Trend | _Season] = [_Last(past)]
    for other in (_Trend(past), _Season(past, round(season_s / period_s))):
        if other.is_known and other.error < BETTER * min(each.error for each in methods):
            methods.append(other)
    best = methods[-1]
    ahead = np.arange(1, max(1, round(ahead_s / period_s)) + 1)
    expected = np.maximum(best.from_now(ahead), 0.0)
    return Forecast(best.name, period_s, tuple(expected.tolist()), best.margin, past.is_settled)


@dataclass(frozen=True)
class _Past:
    """Rates at even distances, newest last."""

    rates: Floats
    period_s: float

    @classmethod
    def of(cls, rates: Sequence[tuple[float, float]], period_s: float, season_s: float) -> _Past:
        """Periods that were not observed are filled in from their neighbours."""
        at_s, seen = np.array(rates[-round((season_s + TRIED_S + TREND_S) / period_s) :]).T
        periods = int((at_s[-1] - at_s[0]) / period_s + 1e-6) + 1
        even_s = at_s[-1] - period_s * np.arange(periods - 1, -1, -1)
        return cls(np.interp(even_s, at_s, seen), period_s)

    def periods(self, seconds: float) -> int:
        return max(1, round(seconds / self.period_s))

    def means(self, ends: Integers, width: int) -> Floats:
        """Of the `width` rates up to each end; of as many as there are."""
        sums = np.concatenate(([0.0], np.cumsum(self.rates)))
        starts = np.maximum(ends + 1 - width, 0)
        return np.asarray((sums[ends + 1] - sums[starts]) / (ends + 1 - starts))

    @cached_property
    def deviation(self) -> float:
        """Of the noise from period to period. Of few changes the smallest counts: a step in a run
        that has just begun is no noise.
        """
        changes = np.abs(np.diff(self.rates[-self.periods(TRIED_S) :]))
        if len(changes) == 0:
            return 0.0
        usual = np.median(changes) if len(changes) >= FEW_CHANGES else changes.min()
        return float(PER_DEVIATION * usual / np.sqrt(2))

    @property
    def is_settled(self) -> bool:
        """The last period agrees with the one before, or they have not agreed for three."""
        changes = np.abs(np.diff(self.rates[-4:]))
        jumps = changes > max(JUMP * self.deviation, SAME * float(self.rates[-1]))
        return len(jumps) == 0 or not jumps[-1] or bool(jumps[-3:].all() and len(jumps) >= 3)

    @cached_property
    def levels(self) -> Floats:
        """Per moment the rate without chance: the mean of as many of the last rates as agree with
        the median of three; where even that does not agree with the newest, the newest.
        """
        rates, ends, deviation = self.rates, np.arange(len(self.rates)), self.deviation
        padded = np.concatenate((rates[:1], rates[:1], rates))
        middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, 3), axis=1)
        levels, agrees = middle, np.full(len(rates), True)
        for seconds in LEVELS_S:
            means = self.means(ends, self.periods(seconds))
            agrees &= np.abs(means - middle) <= AGREES * deviation
            levels = np.where(agrees, means, levels)
        return np.where(np.abs(rates - levels) > JUMP * deviation, rates, levels)


class _Method:
    """A forecast, and how it did."""

    name: ClassVar[str]
    needs: int
    """Periods before the moment from which it looks ahead."""

    def __init__(self, past: _Past, needs: int) -> None:
        self.past, self.needs = past, needs

    def ahead(self, moments: Integers, periods: Integers) -> Floats:
        """What it says at each of the moments about so many periods later."""
        raise NotImplementedError

    def from_now(self, periods: Integers) -> Floats:
        return self.ahead(np.full(len(periods), len(self.past.rates) - 1), periods)

    @property
    def is_known(self) -> bool:
        """It can be tried at least once that far ahead."""
        return len(self.past.rates) > self.needs + 2 * self.past.periods(LEAD_S)

    @cached_property
    def error(self) -> float:
        """The mean over the moments of the last half hour, near and far."""
        errors = [self._errors(seconds) for seconds in (LEAD_S, FAR_S)]
        return float(np.mean([np.abs(each).mean() for each in errors if len(each)] or [0.0]))

    @cached_property
    def margin(self) -> float:
        errors = self._errors(LEAD_S)
        if len(errors) == 0:
            return 0.0
        return float(DEVIATIONS * PER_DEVIATION * np.median(np.abs(errors)))

    def _errors(self, lead_s: float) -> Floats:
        rates, lead = self.past.rates, self.past.periods(lead_s)
        first = max(self.needs, len(rates) - lead - self.past.periods(TRIED_S))
        moments = np.arange(first, len(rates) - lead)
        if len(moments) == 0:
            return rates[:0]
        return np.asarray(rates[moments + lead] - self.ahead(moments, np.full(len(moments), lead)))


class _Last(_Method):
    name = "last value"

    def __init__(self, past: _Past) -> None:
        super().__init__(past, 0)

    def ahead(self, moments: Integers, periods: Integers) -> Floats:
        return self.past.levels[moments]


class _Trend(_Method):
    """The line of least squares through the last minutes."""

    name = "trend"

    def __init__(self, past: _Past) -> None:
        super().__init__(past, max(2, past.periods(TREND_S)))  # a line takes two points

    def ahead(self, moments: Integers, periods: Integers) -> Floats:
        width = self.needs
        windows = np.lib.stride_tricks.sliding_window_view(self.past.rates, width)
        seen = windows[moments - width + 1]
        centred = np.arange(width) - (width - 1) / 2
        slopes = seen @ centred / (centred @ centred)
        return np.asarray(seen.mean(axis=1) + slopes * ((width - 1) / 2 + periods))


class _Season(_Method):
    """As it was one season ago, times what the last minutes had more than those before then."""

    name = "same time of the last period"

    def __init__(self, past: _Past, season: int) -> None:
        self.season, self.width = season, past.periods(TREND_S)
        super().__init__(past, season + self.width)

    def ahead(self, moments: Integers, periods: Integers) -> Floats:
        past, before = self.past, moments - self.season
        then = past.means(before, self.width)
        times = np.clip(past.means(moments, self.width) / np.maximum(then, 1e-9), 0.5, 2.0)
        # Single outliers of then say nothing about now.
        return np.asarray(past.levels[before + periods] * times)


@dataclass(frozen=True)
class Quiet:
    """For how long the rate has been at most so high, and for how long it will be."""

    so_far_s: float
    further_s: float

    @classmethod
    def below(cls, rates: Sequence[tuple[float, float]], level: float) -> Quiet:
        """Of earlier stretches that were quiet for as long, how much longer they lasted in the
        mean; counted among them is one that lasts as long again, which is all that is known where
        there was none. O(periods).
        """
        at_s, seen = np.array(rates).T
        loud = np.flatnonzero(seen > level * (1 + 1e-9))
        begin_s = at_s[0] if len(loud) == 0 else at_s[loud[-1]]
        so_far_s = float(at_s[-1] - begin_s)
        lengths_s = np.diff(at_s[loud])
        longer_s = lengths_s[lengths_s > max(so_far_s, 1e-9)] - so_far_s
        # The stretch before the first loud period began at the latest when the record did.
        return cls(so_far_s, float((so_far_s + longer_s.sum()) / (1 + len(longer_s))))
