"""How the input rate changes over time."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from slotwise.model.errors import ModelError

SINE_POINTS = 128
"""A sine is followed by this many linear pieces per period, within 0.03 % of it."""


@dataclass(frozen=True)
class Schedule:
    """A factor on the nominal input rate, linear between `points`.

    Points are (second, factor), the first at second 0; two points at the same second are a jump.
    With `period_s` the points repeat, otherwise the last factor holds from there on.

    >>> Schedule.step(at_s=60, factor=2).points
    ((0.0, 1.0), (60.0, 1.0), (60.0, 2.0))
    """

    points: tuple[tuple[float, float], ...]
    period_s: float | None = None

    def __post_init__(self) -> None:
        times = [at for at, _ in self.points]
        if not times or times[0] != 0 or times != sorted(times) or not math.isfinite(times[-1]):
            raise ModelError("the points of a schedule must start at second 0 and be in order")
        if any(not (math.isfinite(factor) and factor >= 0) for _, factor in self.points):
            raise ModelError("the factors of a schedule must be 0 or more")
        if self.period_s is not None and not (
            math.isfinite(self.period_s) and self.period_s >= times[-1] and self.period_s > 0
        ):
            raise ModelError("the period of a schedule must not end before its last point")
        if self._never_emits():
            raise ModelError("a schedule needs a factor greater than 0")

    def _never_emits(self) -> bool:
        if self.period_s is None:
            return all(factor == 0 for _, factor in self.points)
        held = (*self.points, (self.period_s, self.points[-1][1]))
        pieces = itertools.pairwise(held)
        return not any(end > start and one + other > 0 for (start, one), (end, other) in pieces)

    def at(self, second: float) -> float:
        """The factor then; at a jump, the one after it.

        >>> Schedule.ramp(from_s=0, to_s=10, factor=3).at(5)
        2.0
        """
        into = second % self.period_s if self.period_s else second
        number = bisect.bisect_right([at for at, _ in self.points], into)
        if number == len(self.points):
            return self.points[-1][1]
        (start, one), (end, other) = self.points[number - 1], self.points[number]
        return one + (other - one) * (into - start) / (end - start)

    @classmethod
    def constant(cls) -> Schedule:
        """The nominal rate at all times."""
        return cls(((0.0, 1.0),))

    @classmethod
    def step(cls, at_s: float, factor: float) -> Schedule:
        """The nominal rate, from `at_s` on `factor` times it."""
        return cls(((0.0, 1.0), (float(at_s), 1.0), (float(at_s), float(factor))))

    @classmethod
    def stairs(cls, factors: Sequence[float], step_s: float) -> Schedule:
        """One factor after the other, each for `step_s` seconds; the last one holds.

        >>> Schedule.stairs([1, 2], step_s=5).points
        ((0.0, 1.0), (5.0, 1.0), (5.0, 2.0), (10.0, 2.0))
        """
        points = [
            (float(end * step_s), float(factor))
            for number, factor in enumerate(factors)
            for end in (number, number + 1)
        ]
        return cls(tuple(points))

    @classmethod
    def ramp(cls, from_s: float, to_s: float, factor: float) -> Schedule:
        """From the nominal rate at `from_s` linearly to `factor` times it at `to_s`."""
        return cls(((0.0, 1.0), (float(from_s), 1.0), (float(to_s), float(factor))))

    @classmethod
    def sine(cls, period_s: float, amplitude: float) -> Schedule:
        """1 + amplitude · sin: `amplitude` at most 1."""
        if not 0 <= amplitude <= 1:
            raise ModelError(f"invalid amplitude of a sine: {amplitude}: expected 0 to 1")
        parts = [i / SINE_POINTS for i in range(SINE_POINTS + 1)]
        return cls(
            tuple((p * period_s, 1 + amplitude * math.sin(2 * math.pi * p)) for p in parts),
            float(period_s),
        )

    @classmethod
    def burst(cls, period_s: float, length_s: float, factor: float) -> Schedule:
        """In each period of `period_s`, `factor` times the nominal rate for the last `length_s`."""
        if not 0 <= length_s <= period_s:
            raise ModelError(f"a burst of {length_s:g} s does not fit a period of {period_s:g} s")
        calm = float(period_s - length_s)
        points = ((0.0, 1.0), (calm, 1.0), (calm, float(factor)), (float(period_s), float(factor)))
        return cls(points, float(period_s))
