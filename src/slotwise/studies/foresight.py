"""A clairvoyant: it knows the day, and has the cheapest plan for every period, without pauses.

Its plans are those that `slotwise plan` gives for the highest rate of the period.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotwise.model import Plan
from slotwise.studies.controller_workloads import Workload
from slotwise.studies.load_shapes import Shape

LEVEL = 1.05
"""Demands are rounded up to powers of this, so that few plans are made."""


@dataclass(frozen=True)
class Foreseen:
    """The plan of each period in turn."""

    period_s: float
    plans: Sequence[Plan]

    @property
    def changes(self) -> int:
        pairs = zip(self.plans, self.plans[1:], strict=False)
        return sum(one is not other for one, other in pairs)


def foreseen(workload: Workload, shape: Shape, period_s: float) -> Foreseen:
    """For the highest demand in each period. A machine that is slow is exchanged for another one,
    so it makes no difference. Raises SlotwiseError where there is no plan.
    """
    starts = [n * period_s for n in range(round(shape.day_s / period_s))]
    periods = [shape.highest(at_s, at_s + period_s) for at_s in starts]
    slowest: dict[int, float] = {}
    for demand, speed in periods:
        slowest[_level(demand)] = min(speed, slowest.get(_level(demand), math.inf))
    best = _best(workload, slowest)
    return Foreseen(period_s, [best[_level(demand)] for demand, _ in periods])


def _level(demand: float) -> int:
    return math.ceil(math.log(demand) / math.log(LEVEL) - 1e-9)


def _best(workload: Workload, slowest: Mapping[int, float]) -> dict[int, Plan]:
    """Per level the plan with the fewest slots, at the least cost, of those for it or for more."""
    found: dict[int, Plan] = {}
    best: Plan | None = None
    for level in sorted(slowest, reverse=True):
        plan = workload.plan(LEVEL**level, slowest[level])
        if best is None or (plan.slots, plan.cost_per_hour) < (best.slots, best.cost_per_hour):
            best = plan
        found[level] = best
    return found
