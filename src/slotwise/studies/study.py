"""What a study is made of: values only, so that writing them down is somebody else's work.

A study computes everything it holds, the paper's own figures excepted: those are PaperFigures,
read from paper_figures.yaml.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from slotwise.parts import P, Row, run_here
from slotwise.report.charts import Cell, Chart, Line, Table

__all__ = [
    "FULL",
    "Cell",
    "Chart",
    "Comparison",
    "Effort",
    "Line",
    "PaperFigure",
    "Study",
    "Table",
]

Verdict = Literal["agrees", "same direction", "differs"]
T = TypeVar("T")

AGREES_WITHIN = 0.1
"""A figure agrees with the paper's if it is within this part of it."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure as a paper prints it; `low` and `high` are equal where it prints one number."""

    what: str
    low: float
    high: float
    unit: str
    source: str
    """Section and figure or table of the paper."""
    neutral: float | None = None
    """What the figure would be if the effect it measures did not exist: 0 for a gain, say."""

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:g} {self.unit}".strip()
        return f"{self.low:g} to {self.high:g} {self.unit}".strip()


@dataclass(frozen=True)
class Comparison:
    """One row of the table "paper | ours"."""

    paper: PaperFigure
    ours: float
    why: str = ""
    """Where ours differs: the reason."""

    @property
    def verdict(self) -> Verdict:
        """Within 10 % of the paper's range: agrees. Else on the same side of `neutral`, or not."""
        low, high, neutral = self.paper.low, self.paper.high, self.paper.neutral
        slack = AGREES_WITHIN * max(abs(low), abs(high))
        if low - slack <= self.ours <= high + slack:
            return "agrees"
        if neutral is not None and ((low + high) / 2 - neutral) * (self.ours - neutral) > 0:
            return "same direction"
        return "differs"


@dataclass(frozen=True)
class Study:
    """A paper's evaluation, measured again in simulation or on Spark."""

    name: str
    title: str
    citation: str
    quick: bool
    seed: int
    assumptions: tuple[str, ...]
    """What the paper does not say and we chose."""
    comparisons: tuple[Comparison, ...]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    remarks: tuple[str, ...]
    """What came out, and where it differs from the paper, why."""
    on_spark: bool = False
    """Whether it was measured on Spark; otherwise in simulation."""

    def table(self, title: str) -> Table:
        return next(table for table in self.tables if table.title == title)


class Progress(Protocol):
    """Called as each(items, what is done): gives the items back one by one, and may show that."""

    def __call__(self, items: Sequence[T], what: str, /) -> Iterable[T]: ...


def _untold(items: Sequence[T], what: str, /) -> Iterable[T]:
    return items


class Rows(Protocol):
    """Called as rows(parts, what is done): the row of each part, in their order."""

    def __call__(self, parts: Sequence[P], what: str, /) -> Sequence[Row]: ...


def _rows_here(parts: Sequence[P], what: str, /) -> Sequence[Row]:
    return [row for _, row in run_here(parts)]


@dataclass(frozen=True)
class Effort:
    """How much work a study does, and where its progress is reported."""

    quick: bool = False
    """Fewer points and shorter simulations: for tests, and for a first look."""
    seed: int = 0
    each: Progress = _untold
    rows: Rows = _rows_here
    """Who does the parts of a study that is made of many; they may be kept for the next time."""
    clock: Callable[[], float] = time.perf_counter
    """For the few figures that are running times of our own code."""

    def pick(self, full: T, quick: T) -> T:
        return quick if self.quick else full


FULL = Effort()
