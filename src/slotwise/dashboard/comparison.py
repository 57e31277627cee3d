"""The page's data for a comparison: all candidates, and which of them no other one beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotwise.comparison import Candidate
from slotwise.dashboard.document import VERSION
from slotwise.json_data import json_data
from slotwise.model import Pipeline


def comparison_document(pipeline: Pipeline, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """As the page takes it: the rows of `compare --json`, each with `pareto`."""
    from slotwise.spec.exact_json import exact_data

    rows = [json_data(candidate.row()) for candidate in candidates]
    return {
        "version": VERSION,
        "kind": "comparison",
        "topology": pipeline.topology.name,
        "goals": exact_data(pipeline.goals),
        "candidates": [row | {"pareto": _is_unbeaten(row, rows)} for row in rows],
    }


def _is_unbeaten(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> bool:
    """No candidate at its rate costs less and is as fast, or is faster and costs as little."""
    own = _both(row)
    if own is None:
        return False
    others = (_both(other) for other in rows if other["rate"] == row["rate"])
    return not any(
        other != own and other[0] <= own[0] and other[1] <= own[1]
        for other in others
        if other is not None
    )


def _both(row: dict[str, Any]) -> tuple[float, float] | None:
    """Cost and p99; None without a plan, and for one that does not keep up."""
    cost, latency_ms = row["cost_per_hour"], row["latency_p99_ms"]
    unbounded = row["latency_ms"] is None
    return None if cost is None or latency_ms is None or unbounded else (cost, latency_ms)
