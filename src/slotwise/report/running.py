"""A run for the terminal: what is measured beside what was planned."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotwise.model import Observation, Plan
from slotwise.report.figures import figure, percent
from slotwise.report.tables import table


def observation_report(plan: Plan, seen: Observation) -> RenderableType:
    """Rate and latencies, then operators and slots, planned → measured."""
    return Group(_headline(seen), "", _operators(plan, seen), "", _slots(plan, seen))


def side_by_side(columns: Sequence[tuple[str, Observation]]) -> Table:
    """Several observations in a table: predicted, simulated or measured."""
    made = table("", *(f">{name}" for name, _ in columns))
    rows: dict[str, list[str]] = {
        "sustained tuples/s": [figure(o.rate) for _, o in columns],
        "mean latency ms": [figure(o.latency_ms) for _, o in columns],
        **{
            f"p{round(100 * part)} ms": [_quantile(o, part) for _, o in columns]
            for part in (0.5, 0.95, 0.99)
        },
        "between nodes, tuples/s": [figure(o.inter_node_traffic) for _, o in columns],
        "between slots, tuples/s": [figure(o.inter_slot_traffic) for _, o in columns],
        "busiest operator": [o.bottleneck or "–" for _, o in columns],
        "stable": [{True: "yes", False: "no", None: "–"}[o.stable] for _, o in columns],
    }
    for name, cells in rows.items():
        made.add_row(Text(name), *cells)
    return made


def _quantile(seen: Observation, part: float) -> str:
    return figure(dict(seen.latency_quantiles).get(part, math.nan))


def _headline(seen: Observation) -> Text:
    quantiles = ", ".join(f"p{round(100 * q)} {figure(ms)}" for q, ms in seen.latency_quantiles)
    return Text.assemble(
        (f"{figure(seen.rate)} of {figure(seen.input_rate)} tuples/s", "bold"),
        f", latency {figure(seen.latency_ms)} ms, at the end {quantiles}, "
        f"{figure(seen.inter_node_traffic)} tuples/s between nodes",
    )


def _operators(plan: Plan, seen: Observation) -> Table:
    made = table(
        "Operator",
        ">Threads",
        ">Planned/s",
        ">Measured/s",
        ">Planned busy",
        ">Busy",
        ">Planned wait ms",
        ">Wait ms",
        ">Service ms",
        ">Failed",
    )
    planned = {load.operator: load for load in plan.predicted.operators} if plan.predicted else {}
    for entry, load in zip(plan.allocation, seen.operators, strict=True):
        expected = planned.get(entry.operator)
        busy = Text(percent(load.utilisation), "red" if load.utilisation > 0.98 else "")
        made.add_row(
            Text(entry.operator),
            f"{entry.threads:,}",
            figure(entry.arrival_rate),
            figure(load.arrival_rate),
            percent(expected.utilisation) if expected else "–",
            busy,
            figure(expected.waiting_ms + expected.network_ms) if expected else "–",
            figure(load.waiting_ms),
            figure(load.service_ms),
            f"{load.lost:,}" if load.lost else "",
        )
    return made


def _slots(plan: Plan, seen: Observation) -> Table:
    made = table("Slot", ">Planned CPU", ">CPU", ">Memory", "Threads")
    planned = {load.name: load for load in plan.predicted.slots} if plan.predicted else {}
    for load, inside in zip(seen.slots, plan.threads_in_slots(), strict=True):
        expected = planned.get(load.name)
        threads = ", ".join(f"{operator}×{count}" for operator, count in inside)
        made.add_row(
            Text(load.name),
            percent(expected.cpu) if expected else "–",
            percent(load.cpu),
            percent(load.mem),
            Text(threads or "empty"),
        )
    return made
