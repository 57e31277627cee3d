from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

import slotwise
from slotwise.model import Goals, Plan
from slotwise.report.plan import MOST_NODES, plan_report


def text(plan: Plan, width: int = 80) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(plan_report(plan))
    return captured.get()


@pytest.fixture(scope="module")
def linear() -> Plan:
    return slotwise.plan("linear", 100, allocator="mba", placer="sam")


@pytest.mark.parametrize("width", [80, 120])
def test_fits(linear: Plan, width: int) -> None:
    assert max(map(len, text(linear, width).splitlines())) <= width


def test_equal_slots_in_a_row_share_a_line() -> None:
    plan = slotwise.plan("star", 100, allocator="mba", placer="exact")
    assert any(line.split()[-2:] == ["0–1", "azure-table×60"] for line in text(plan).splitlines())


def test_empty_slots_are_said_to_be_empty(linear: Plan) -> None:
    assert linear.cluster.slots == 8
    assert text(linear).count(" empty") == 1


def test_goals(linear: Plan) -> None:
    def told(goals: Goals) -> str:
        return text(replace(linear, pipeline=replace(linear.pipeline, goals=goals)))

    assert "Goals" not in told(Goals())
    assert "✓ predicted capacity 80.0/s reaches the goal of 50.0/s" in told(Goals(rate=50))
    assert "✓ 2 machines of at most 2" in told(Goals(rate=50, machines=2))
    assert "✗ predicted capacity 80.0/s is below the goal" in told(Goals(rate=90))
    assert "✗ predicted mean latency is unbounded" in told(Goals(latency_ms=100))
    assert "✗ predicted p99 latency is unbounded" in told(Goals(latency_p99_ms=100))


def test_what_a_prediction_does_not_know_is_not_tested() -> None:
    pipeline = replace(slotwise.load("linear"), goals=Goals(rate=50, latency_p99_ms=100))
    plan = slotwise.plan(pipeline, allocator="mba", placer="exact")
    plan = replace(
        plan, predicted=replace(slotwise.predict(plan, 10), latency_p99_ms=None), simulated=None
    )
    assert "? predicted p99 latency is not known: not tested" in text(plan)


def test_a_plan_without_prediction(linear: Plan) -> None:
    told = text(replace(linear, predicted=None))
    assert "azure-blob×50" in told
    assert "Capacity  " not in told


def test_names_are_literal_and_never_markup(linear: Plan) -> None:
    first, *others = linear.allocation.operators
    allocation = replace(
        linear.allocation, operators=(replace(first, operator="[red]x[/]"), *others)
    )
    told = text(replace(linear, allocation=allocation))
    assert "\n[red]x[/] " in told
    assert "[red]x[/]×1, pi×1" in told


def test_long_clusters_are_cut() -> None:
    plan = slotwise.plan("linear", 5000, allocator="mba", placer="sam")
    assert plan.machines > MOST_NODES
    assert f"… and {plan.machines - MOST_NODES} more nodes" in text(plan)
