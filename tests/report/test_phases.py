"""The table of a run's phases."""

from __future__ import annotations

import math
from dataclasses import replace

from rich.console import Console

import slotwise
from slotwise.model import Goals, Plan
from slotwise.report.phases import Phase, phases_table


def phase(name: str, plan: Plan, p99_ms: float, *, stable: bool) -> Phase:
    assert plan.predicted is not None
    seen = replace(
        plan.predicted,
        origin="measured",
        offered_rate=50.0,
        throughput=48.5,
        capacity=None if stable else 48.5,
        stable=stable,
        latency_p50_ms=12.0,
        latency_p99_ms=p99_ms,
    )
    predicted = replace(plan.predicted, capacity=61.1, latency_p50_ms=10.5, latency_p99_ms=math.inf)
    return Phase(name, plan, predicted, seen)


def test_a_row_has_what_was_predicted_beside_what_was_measured() -> None:
    plan = slotwise.plan("linear", rate=50, allocator="lsa", placer="round-robin")
    goals = Goals(latency_p99_ms=1000)
    plan = replace(plan, pipeline=replace(plan.pipeline, goals=goals))
    late = phase("too late", plan, 4321.0, stable=False)
    good = phase("in time", plan, 234.0, stable=True)
    assert (late.missed, good.missed) == (True, False)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(phases_table([late, good]))
    rows = [" ".join(line.split()) for line in captured.get().splitlines()]
    found = [row for row in rows if row.startswith(("too late", "in time"))]
    slots = plan.cluster.slots
    assert found == [
        f"too late 50.0 48.5 61.1 10.5 | 12.0 ∞ | 4,321 missed {slots}",
        f"in time 50.0 48.5 61.1 10.5 | 12.0 ∞ | 234 met {slots}",
    ]
