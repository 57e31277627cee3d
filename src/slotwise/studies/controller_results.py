"""The rows of all trials of controllers, and their means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from slotwise import registry
from slotwise.parts import Row
from slotwise.studies.controller_trials import CLAIRVOYANT, MEAN, PEAK, STATIC, Trial
from slotwise.studies.controller_workloads import WORKLOADS
from slotwise.studies.load_shapes import shapes
from slotwise.studies.study import Effort

OURS = "look-ahead"
DAY_S, QUICK_DAY_S = 7200.0, 300.0
COMPRESSED = 24 * 3600.0 / DAY_S
FASTER_FLINK = "flink:window_s=75,scale_down_s=300,catch_up_s=150"
"""The autoscaler's times divided as the day is."""
LABELS = {FASTER_FLINK: f"flink, {COMPRESSED:g} times faster"}
DRAWN = "vld"
"""The workload whose days are drawn over time, and the only one of the quick version."""
Day = tuple[str, str]
"""Workload and shape."""
Figure = Callable[[Day, str], float | None]
"""Of a day under a strategy; None: not known."""


def strategies() -> tuple[str, ...]:
    """What is compared: the registry's controllers, and the yardsticks."""
    controllers = (name for name in registry.CONTROLLERS if name != STATIC)
    return (CLAIRVOYANT, PEAK, MEAN, *controllers, FASTER_FLINK)


def label(strategy: str) -> str:
    return LABELS.get(strategy, strategy)


@dataclass(frozen=True)
class Results:
    """The row of every trial."""

    day_s: float
    seed: int
    workloads: tuple[str, ...]
    shapes: tuple[str, ...]
    rows: Mapping[tuple[str, str, str], Row]
    """By workload, shape and strategy."""

    @classmethod
    def of(cls, effort: Effort) -> Results:
        day_s = effort.pick(DAY_S, QUICK_DAY_S)
        workloads = effort.pick(tuple(WORKLOADS), (DRAWN,))
        days = effort.pick(tuple(shapes(day_s, effort.seed)), ("step", "slow node"))
        trials = [
            Trial(workload, shape, strategy, day_s, effort.seed)
            for workload in workloads
            for shape in days
            for strategy in strategies()
        ]
        rows = effort.rows(trials, "simulated days")
        found = {
            (trial.workload, trial.shape, trial.strategy): row
            for trial, row in zip(trials, rows, strict=True)
        }
        return cls(day_s, effort.seed, workloads, days, found)

    @property
    def days(self) -> list[Day]:
        return [(workload, shape) for workload in self.workloads for shape in self.shapes]

    def figure(self, day: Day, strategy: str, column: str) -> float | None:
        value = self.rows[(*day, strategy)][column]
        return None if value is None else float(value)

    def relative(self, day: Day, strategy: str, column: str) -> float | None:
        """In parts of the clairvoyant's."""
        value = self.figure(day, strategy, column)
        least = self.figure(day, CLAIRVOYANT, column)
        return value / least if value is not None and least else None

    def mean(self, strategy: str, of: Figure, shape: str | None = None) -> float | None:
        """Over all days, or those of one shape; None where it is not known of one of them."""
        values = [of(day, strategy) for day in self.days if shape in (None, day[1])]
        known = [value for value in values if value is not None]
        return fmean(known) if len(known) == len(values) else None

    def violation(self, day: Day, strategy: str) -> float | None:
        return self.figure(day, strategy, "violation_s")

    def slots(self, day: Day, strategy: str) -> float | None:
        return self.relative(day, strategy, "slot_hours")

    @property
    def rivals(self) -> list[str]:
        """Controllers other than ours."""
        yardsticks = (CLAIRVOYANT, PEAK, MEAN, OURS)
        return [name for name in strategies() if name not in yardsticks]
