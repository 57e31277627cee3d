"""From a pipeline to a plan: slots added, budgets kept, fixed clusters, auto."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import slotwise
from slotwise import planner
from slotwise.model import Cluster, Goals, Node, Placement, Refusal, Refused, SlotwiseError
from slotwise.spec.plan_json import plan_to_json


def test_three_lines_plan_linear_in_7_slots() -> None:
    plan = slotwise.plan("linear", rate=100, allocator="mba", placer="sam")
    assert (plan.slots, plan.extra_slots, plan.machines) == (7, 0, 2)
    assert [node.type for node in plan.cluster.nodes] == ["D3", "D3"]
    assert plan.cost_per_hour == pytest.approx(0.80)
    assert set(plan.placement.slots.tolist()) <= set(range(7)), "the eighth slot stays free"


def test_the_same_call_gives_the_same_plan_byte_for_byte() -> None:
    first, second = (slotwise.plan("diamond", rate=100) for _ in range(2))
    assert first == second
    assert plan_to_json(first) == plan_to_json(second)


def test_slots_are_added_one_by_one_when_the_placer_refuses_and_it_says_so() -> None:
    plan = slotwise.plan("linear", rate=200, allocator="lsa", placer="r-storm")
    assert plan.allocation.slots == 25
    assert plan.extra_slots >= 1
    assert plan.slots == 25 + plan.extra_slots
    assert any("extra slot" in reason and "because r-storm" in reason for reason in plan.reasons)


def test_every_operator_has_a_reason() -> None:
    plan = slotwise.plan("star", rate=100)
    for operator in plan.pipeline.topology.operators:
        assert any(reason.startswith(f"{operator.name}: ") for reason in plan.reasons)


def test_a_budget_that_is_too_small_says_how_many_machines_would_do() -> None:
    pipeline = replace(slotwise.load("linear"), goals=Goals(rate=200, machines=3))
    with pytest.raises(Refused, match="4 machines would do, the budget is 3"):
        slotwise.plan(pipeline)


def fixed(nodes: int, slots: int = 4) -> Cluster:
    return Cluster(tuple(Node(f"n{i}", slots, 3.5 * slots) for i in range(nodes)), 3.5)


def test_a_fixed_cluster_that_is_too_small_says_how_many_machines_would_do() -> None:
    pipeline = replace(slotwise.load("linear"), catalog=(), cluster=fixed(2))
    with pytest.raises(Refused, match=r"15 slots are needed .* has 8; 4 machines would do"):
        slotwise.plan(pipeline, 200)


def test_a_fixed_cluster_is_used_as_it_is() -> None:
    pipeline = replace(slotwise.load("linear"), catalog=(), cluster=fixed(5))
    plan = slotwise.plan(pipeline, 280, allocator="mba", placer="sam")
    assert plan.cluster == pipeline.cluster
    assert plan.slots <= 20
    with pytest.raises(Refused):
        slotwise.plan(pipeline, 290, allocator="mba", placer="sam")


def test_more_workers_than_slots_are_refused_with_the_numbers() -> None:
    pipeline = slotwise.load("linear")
    greedy = replace(
        pipeline, topology=replace(pipeline.topology, workers=30), catalog=(), cluster=fixed(5)
    )
    with pytest.raises(Refused, match=r"30 slots are needed .*30 workers.* has 20"):
        slotwise.plan(greedy, 50)


def test_workers_raise_the_slots_that_are_bought() -> None:
    pipeline = slotwise.load("linear")
    spread = replace(pipeline, topology=replace(pipeline.topology, workers=9))
    plan = slotwise.plan(spread, 50, placer="round-robin")
    assert plan.slots == 9
    assert len(plan.placement.used_slots) == 9


def test_auto_is_no_worse_than_any_placer_and_reports_the_whole_table() -> None:
    best = slotwise.plan("linear", 100, placer="auto")
    tried = slotwise.compare("linear", [100.0], allocators=["mba"])
    for candidate in tried:
        assert any(f"auto tried {candidate.placer}:" in reason for reason in best.reasons)
        if candidate.plan is not None:
            assert best.cost_per_hour <= candidate.plan.cost_per_hour
    assert best.placement.algorithm in {candidate.placer for candidate in tried}


def test_compare_has_a_row_for_every_pair_and_rate() -> None:
    rows = [
        candidate.row()
        for candidate in slotwise.compare(
            "star", [50.0, 100.0], allocators=["lsa", "drs"], placers=["sam", "round-robin"]
        )
    ]
    assert [(row["rate"], row["allocator"], row["placer"]) for row in rows] == [
        (rate, allocator, placer)
        for rate in (50.0, 100.0)
        for allocator in ("lsa", "drs")
        for placer in ("sam", "round-robin")
    ]
    refused = [row for row in rows if row["allocator"] == "drs"]
    assert all("needs a latency bound" in str(row["refused"]) for row in refused)


def test_a_missed_goal_is_told() -> None:
    pipeline = replace(slotwise.load("linear"), goals=Goals(rate=100, latency_ms=50))
    rate, latency = slotwise.plan(pipeline).missed_goals()
    assert "predicted rate 80.0/s is below the goal of 100.0/s" in rate
    assert "latency" in latency


def test_no_rate_is_one_clear_sentence() -> None:
    with pytest.raises(SlotwiseError, match="no rate to plan 'linear' for"):
        slotwise.plan("linear")


def test_a_plan_prints_in_one_line() -> None:
    assert str(slotwise.plan("linear", 100)) == (
        "linear at 100 tuples/s by mba + sam: 335 threads in 7 slots on 2 machines, "
        "predicted 80.0/s"
    )


def test_two_plans_tell_what_differs() -> None:
    small, large = slotwise.plan("linear", 50), slotwise.plan("linear", 100)
    assert large.changes_from(large) == ()
    assert set(large.changes_from(small)) >= {
        "azure-blob: 80 → 170 threads",
        "azure-table: 70 → 160 threads",
        "machine d3-2 is new",
    }
    moved = slotwise.plan("linear", 100, placer="round-robin").changes_from(large)
    assert len(moved) == 1
    assert moved[0].endswith("threads moved")


@pytest.mark.parametrize("enough", [5, 6, 20, 21, 22, 500, 999])
def test_the_first_number_of_slots_that_places_is_found(enough: int) -> None:
    tried = []

    def attempt(slots: int) -> planner._Attempt:
        tried.append(slots)
        refusal = Refusal("fake", f"{slots} are too few", resource="cpu", missing=0.1)
        placement = Placement("fake", (1,), np.array([0]))
        return planner._Attempt(slots, fixed(1), placement if slots >= enough else refusal)

    placed, refusal = planner._fewest_slots(attempt, 5, 1000)
    assert placed.slots == enough
    assert refusal is None if enough == 5 else refusal.explanation == f"{enough - 1} are too few"
    assert len(tried) < 40


def test_a_placer_that_says_how_many_slots_it_lacks_is_believed() -> None:
    def attempt(slots: int) -> planner._Attempt:
        lacking = Refusal("fake", "too few", resource="slots", missing=float(90 - slots))
        placement = Placement("fake", (1,), np.array([0]))
        return planner._Attempt(slots, fixed(1), placement if slots >= 90 else lacking)

    placed, _ = planner._fewest_slots(attempt, 5, 1000)
    assert placed.slots == 90
