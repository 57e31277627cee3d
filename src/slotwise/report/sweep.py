"""A sweep for the terminal: a row per point, and why there is none where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from slotwise.report.figures import figure, rate
from slotwise.report.tables import table


def sweep_report(rows: Sequence[dict[str, Any]]) -> RenderableType:
    """Rows as `simulation.sweep` makes them."""
    named = any(row["cluster"] for row in rows)
    seeded = len({row["seed"] for row in rows}) > 1
    made = table(
        *(["<Cluster"] if named else []),
        ">Rate/s",
        "<Allocator",
        "<Placer",
        *([">Seed"] if seeded else []),
        ">Slots",
        ">Pred.\ncap./s",
        ">Sim.\nout/s",
        ">Pred.\nms",
        ">Sim.\nms",
        ">p99\nms",
        "Bottleneck",
        gap=1,
    )
    for row in (row for row in rows if row["refused"] is None):
        made.add_row(
            *([Text(row["cluster"])] if named else []),
            rate(row["rate"]),
            Text(row["allocator"]),
            Text(row["placer"]),
            *([f"{row['seed']}"] if seeded else []),
            f"{row['slots']:,}",
            figure(row["predicted_capacity"]),
            Text(figure(row["throughput"]), "green" if row["stable"] else "red"),
            "∞" if row["predicted_latency_ms"] is None else figure(row["predicted_latency_ms"]),
            figure(row["latency_ms"]),
            figure(row["latency_p99_ms"]),
            Text("" if row["stable"] else row["bottleneck"], "yellow"),
        )
    parts: list[RenderableType] = [made] if made.row_count else []
    refused = dict.fromkeys(_refusal(row) for row in rows if row["refused"] is not None)
    return Group(*parts, *(Text(f"\nrefused {text}", "yellow") for text in refused))


def _refusal(row: dict[str, Any]) -> str:
    where = f"{row['cluster']}, " if row["cluster"] else ""
    pair = f"{row['allocator']} + {row['placer']}"
    return f"{where}{rate(row['rate'])}/s, {pair}: {row['refused']}"
