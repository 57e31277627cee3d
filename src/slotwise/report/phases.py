"""Parts of a run in one table: what was measured in each, beside what was predicted for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from slotwise.model import Observation, Plan, missed
from slotwise.report.figures import figure
from slotwise.report.tables import table


@dataclass(frozen=True)
class Phase:
    """A part of a run, under one plan."""

    name: str
    plan: Plan
    """With every thread where it was."""
    predicted: Observation
    """Of this plan at the rate that was offered."""
    seen: Observation

    @property
    def missed(self) -> bool:
        """Whether what was seen misses a goal of the pipeline."""
        return bool(missed(self.plan.pipeline.goals.judge(self.seen)))


def phases_table(phases: Sequence[Phase]) -> Table:
    """A row per phase; where two figures stand together, predicted first."""
    made = table(
        "<",
        ">Offered\n/s",
        ">Finished\n/s",
        ">Predicted\ncapacity /s",
        ">p50 ms",
        ">p99 ms",
        "<Goals",
        ">Slots",
        gap=1,
    )
    for phase in phases:
        predicted, seen = phase.predicted, phase.seen
        made.add_row(
            Text(phase.name),
            figure(seen.offered_rate),
            figure(seen.throughput),
            figure(predicted.capacity),
            f"{_ms(predicted.latency_p50_ms)} | {_ms(seen.latency_p50_ms)}",
            f"{_ms(predicted.latency_p99_ms)} | {_ms(seen.latency_p99_ms)}",
            Text("missed", "red") if phase.missed else Text("met", "green"),
            f"{len(seen.slots):,}",
        )
    made.caption = Text("latencies: predicted | measured", "dim")
    made.caption_justify = "left"
    return made


def _ms(latency_ms: float | None) -> str:
    """Without decimals where there are three digits."""
    if latency_ms is not None and 100 <= latency_ms < math.inf:
        return f"{latency_ms:,.0f}"
    return figure(latency_ms, "∞")
