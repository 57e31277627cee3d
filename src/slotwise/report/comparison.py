"""A comparison for the terminal: one table per rate, then who refused and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slotwise.comparison import Candidate
from slotwise.model import Plan, Prediction
from slotwise.report.figures import figure, rate
from slotwise.report.tables import table


def comparison_report(candidates: Sequence[Candidate]) -> RenderableType:
    """Candidates come ordered by rate, as `comparison.candidates` gives them."""
    parts: list[RenderableType] = []
    for asked, group in groupby(candidates, key=lambda candidate: candidate.rate):
        same_rate = list(group)
        planned = [(c, c.plan, c.plan.predicted) for c in same_rate if c.plan and c.plan.predicted]
        parts += [Text(f"{rate(asked)} tuples/s", "bold")]
        if planned:
            parts += ["", _table(asked, planned)]
        parts += [*_refusals(same_rate), ""]
    if any(c.plan and c.plan.predicted and c.plan.predicted.fully_busy for c in candidates):
        parts.append(Text("∞: an operator is fully busy, so its queue has no bound", "dim"))
    parts.append(Text("Weighted: the capacity with the plan's routing weights", "dim"))
    return Group(*parts)


def _table(asked: float, planned: list[tuple[Candidate, Plan, Prediction]]) -> Table:
    made = table(
        "<Allocator\n+ placer",
        ">Slots",
        ">Extra",
        ">Nodes",
        ">Cost/h",
        ">Capacity\n/s",
        ">Weighted\n/s",
        ">Latency\nms",
        ">p99\nms",
        ">Between\nnodes/s",
        gap=1,
    )
    shown = None
    for candidate, plan, predicted in planned:
        short = predicted.capacity < asked * (1 - 1e-9)
        if candidate.allocator != shown:
            made.add_row(Text(candidate.allocator))
        made.add_row(
            Text(f"+ {candidate.placer}"),
            f"{plan.slots:,}",
            f"{plan.extra_slots:,}",
            f"{plan.machines:,}",
            f"{plan.cost_per_hour:,.2f}",
            Text(figure(predicted.capacity), "yellow" if short else "green"),
            figure(predicted.proportional_capacity),
            figure(predicted.latency_ms, "∞"),
            figure(_p99_ms(plan), "∞"),
            figure(predicted.inter_node_traffic),
        )
        shown = candidate.allocator
    return made


def _p99_ms(plan: Plan) -> float | None:
    """Simulated; without a bound where the prediction has none, however long the simulation was."""
    if plan.predicted is not None and plan.predicted.fully_busy:
        return math.inf
    return plan.simulated.latency_p99_ms if plan.simulated else None


def _refusals(candidates: Sequence[Candidate]) -> Iterator[RenderableType]:
    """One line per allocator and reason, with all the placers it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for candidate in candidates:
        if candidate.refusal is not None:
            key = candidate.allocator, candidate.refusal.reason
            found.setdefault(key, []).append(candidate.placer)
    for (allocator, reason), placers in found.items():
        pairs = f"{allocator} + {', '.join(placers)}"
        yield Text(f"\nrefused {pairs}", "yellow")
        yield Padding(Text(reason), (0, 0, 0, 2))
