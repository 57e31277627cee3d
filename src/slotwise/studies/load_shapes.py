"""Days that controllers are tried on: how the input rate, the operators and a machine change."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from slotwise.model import Schedule

LOW, HIGH = 0.4, 1.6
"""Of the day's curve, in parts of the base rate."""
NOISE = 0.1
STEP, RAMP, BURST = 2.0, 2.5, 2.5
"""Times the base rate."""
SLOWEST = 0.6
"""The speed of all operators at the end of a day with drift."""
SLOW_NODE = 0.5
PIECES = 120
"""The day's curve has so many pieces, each with a rate of its own."""
AS_USUAL = Schedule.constant()


@dataclass(frozen=True)
class Shape:
    """One day."""

    name: str
    what: str
    """In one sentence."""
    day_s: float
    rate: Schedule = AS_USUAL
    """Factors on the base rate."""
    speed: Schedule = AS_USUAL
    """Of all operators."""
    node_speed: Schedule = AS_USUAL
    """Of the first machine of the plan that the day begins with."""

    def demand(self, at_s: float) -> float:
        """The work that arrives per second, in parts of what arrives at the base rate."""
        return self.rate.at(at_s) / self.speed.at(at_s)

    def highest(self, start_s: float, end_s: float) -> tuple[float, float]:
        """(the highest demand between two times, and the speed of operators then). Exact: both
        schedules are linear between their points.
        """
        inside = {at for at, _ in (*self.rate.points, *self.speed.points) if start_s <= at < end_s}
        ends = {start_s, math.nextafter(end_s, start_s)}
        at_s = max(sorted(inside | ends), key=self.demand)
        return self.demand(at_s), self.speed.at(at_s)

    def mean_demand(self, parts: int = 1000) -> float:
        each_s = self.day_s / parts
        return sum(self.demand((n + 0.5) * each_s) for n in range(parts)) / parts

    def peak_demand(self) -> float:
        return self.highest(0.0, self.day_s)[0]


def shapes(day_s: float, seed: int) -> dict[str, Shape]:
    """All of them, by name. The noise of the day's curve comes from the seed."""
    quarter_s, burst_s = day_s / 4, day_s / 120
    made = (
        Shape(
            "step",
            f"{STEP:g} times the rate in the second and third quarter of the day",
            day_s,
            Schedule(
                (
                    (0.0, 1.0),
                    (quarter_s, 1.0),
                    (quarter_s, STEP),
                    (3 * quarter_s, STEP),
                    (3 * quarter_s, 1.0),
                )
            ),
        ),
        Shape(
            "ramp",
            f"linearly to {RAMP:g} times the rate in the second and third quarter of the day",
            day_s,
            Schedule.ramp(quarter_s, 3 * quarter_s, RAMP),
        ),
        Shape(
            "day",
            f"a sine from {LOW:g} to {HIGH:g} times the rate, and {NOISE:.0%} of noise",
            day_s,
            _noisy_day(day_s, seed),
        ),
        Shape(
            "bursts",
            f"{BURST:g} times the rate in 12 bursts of {burst_s:g} s",
            day_s,
            Schedule.burst(day_s / 12, burst_s, BURST),
        ),
        Shape(
            "drift",
            f"operators slow down to {SLOWEST:g} of their speed over the whole day",
            day_s,
            speed=Schedule.ramp(0.0, day_s, SLOWEST),
        ),
        Shape(
            "slow node",
            f"the first machine has {SLOW_NODE:g} of its speed from a third of the day on",
            day_s,
            node_speed=Schedule.step(day_s / 3, SLOW_NODE),
        ),
    )
    return {shape.name: shape for shape in made}


def _noisy_day(day_s: float, seed: int) -> Schedule:
    noise = np.random.default_rng(seed).uniform(1 - NOISE, 1 + NOISE, PIECES).tolist()
    middle, swing = (LOW + HIGH) / 2, (HIGH - LOW) / 2
    curve = (middle + swing * math.sin(2 * math.pi * (n + 0.5) / PIECES) for n in itertools.count())
    return Schedule.stairs(
        [level * factor for level, factor in zip(curve, noise, strict=False)], day_s / PIECES
    )
