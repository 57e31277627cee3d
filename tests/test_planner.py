"""From a pipeline to a plan: slots added, budgets kept, fixed clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import slotwise
from slotwise import fitting
from slotwise.model import (
    Cluster,
    Goals,
    Logic,
    Node,
    Observation,
    Operator,
    Pipeline,
    Placement,
    Plan,
    Profiles,
    Refusal,
    Refused,
    Scheduler,
    ServiceRate,
    SlotwiseError,
    ThreadTraffic,
    missed,
)
from slotwise.spec.plan_json import plan_to_json
from tests import builders
from tests.controllers.timelines import with_logic


def test_three_lines_plan_linear_in_7_slots() -> None:
    plan = slotwise.plan("linear", rate=100, allocator="mba", placer="sam")
    assert (plan.slots, plan.extra_slots, plan.machines) == (7, 0, 2)
    assert [node.type for node in plan.cluster.nodes] == ["D3", "D3"]
    assert plan.cost_per_hour == pytest.approx(0.80)
    assert set(plan.placement.slots.tolist()) <= set(range(7)), "the eighth slot stays free"


def test_the_same_call_gives_the_same_plan_byte_for_byte() -> None:
    first, second = (slotwise.plan("diamond", 100, allocator="mba", placer="sam") for _ in range(2))
    assert first == second
    assert plan_to_json(first) == plan_to_json(second)


def test_slots_are_added_one_by_one_when_the_placer_refuses_and_it_says_so() -> None:
    plan = slotwise.plan("linear", rate=200, allocator="lsa", placer="r-storm")
    assert plan.allocation.slots == 25
    assert plan.extra_slots >= 1
    assert plan.slots == 25 + plan.extra_slots
    assert any("extra slot" in reason and "because r-storm" in reason for reason in plan.reasons)


@pytest.mark.parametrize(
    ("logic", "problem"),
    [
        (
            Logic(aggregate=(("by", "value"), ("n", "count(*)")), key_groups=3),
            "operator 'work' needs 4 threads, and its keys are divided into 3 groups: "
            "set key_groups: 4",
        ),
        (
            Logic(format="kafka", partitions=1),
            "operator 'work' needs 4 threads, and its topic has 1 partition: add partitions to it",
        ),
    ],
    ids=["key groups", "partitions"],
)
def test_an_operator_has_no_more_threads_than_its_work_is_divided_into(
    logic: Logic, problem: str
) -> None:
    made = with_logic(logic)
    most = Operator("work", logic=logic).most_threads
    assert most is not None
    fits = slotwise.plan(made, 85.0 * most, allocator="lsa", placer="sam")
    assert fits.threads["work"] == most
    with pytest.raises(Refused, match=problem):
        slotwise.plan(made, 350.0, allocator="lsa", placer="sam", current=fits)
    nearest = slotwise.plan(replace(made, scheduler=Scheduler()), 350.0, current=fits)
    assert nearest.threads["work"] <= most
    assert any(reason.startswith("operator 'work' needs ") for reason in nearest.reasons)


def test_key_groups_do_not_bound_a_first_plan() -> None:
    """They can still be set; partitions are those of the topic."""
    keyed = with_logic(Logic(aggregate=(("by", "value"), ("n", "count(*)")), key_groups=3))
    assert slotwise.plan(keyed, 350.0, allocator="lsa", placer="sam").threads["work"] == 4
    read = with_logic(Logic(format="kafka", partitions=3))
    with pytest.raises(Refused, match="its topic has 3 partitions"):
        slotwise.plan(read, 350.0, allocator="lsa", placer="sam")


def test_every_operator_has_a_reason() -> None:
    plan = slotwise.plan("star", rate=100, allocator="mba", placer="sam")
    for operator in plan.pipeline.topology.operators:
        assert any(reason.startswith(f"{operator.name}: ") for reason in plan.reasons)


def test_a_budget_that_is_too_small_says_how_many_machines_are_enough() -> None:
    pipeline = replace(slotwise.load("linear"), goals=Goals(rate=200, machines=3))
    with pytest.raises(Refused, match="4 machines are needed, the budget is 3"):
        slotwise.plan(pipeline, allocator="mba", placer="sam")


def fixed(nodes: int, slots: int = 4) -> Cluster:
    return Cluster(tuple(Node(f"n{i}", slots, 3.5 * slots) for i in range(nodes)), 3.5)


def test_a_fixed_cluster_that_is_too_small_says_how_many_machines_are_enough() -> None:
    pipeline = replace(slotwise.load("linear"), catalog=(), cluster=fixed(2))
    with pytest.raises(Refused, match=r"15 slots are needed .* has 8; 4 machines are enough"):
        slotwise.plan(pipeline, 200, allocator="mba", placer="sam")


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
        slotwise.plan(greedy, 50, allocator="mba", placer="sam")


def test_workers_raise_the_slots_that_are_bought() -> None:
    pipeline = slotwise.load("linear")
    spread = replace(pipeline, topology=replace(pipeline.topology, workers=9))
    plan = slotwise.plan(spread, 50, allocator="mba", placer="round-robin")
    assert plan.slots == 9
    assert len(plan.placement.used_slots) == 9


def uneven() -> Pipeline:
    """Two chains that never meet, on two nodes; what they exchange is known only when they run."""
    topology = builders.topology("a>b", "c>d")
    profiles = {operator.name: ServiceRate(50.0, cpu=0.5) for operator in topology.operators}
    cluster = builders.cluster(2, slots=4)
    return Pipeline(topology, Profiles(profiles, 3584.0), cluster=cluster)


def measured(plan: Plan, rates: dict[tuple[int, int], float]) -> Observation:
    """What was predicted, but for this traffic between threads."""
    assert plan.predicted is not None
    senders, receivers = np.array(list(rates)).T
    traffic = ThreadTraffic(senders, receivers, np.array(list(rates.values())))
    return replace(plan.predicted, thread_traffic=traffic)


def nodes_of(plan: Plan) -> list[int]:
    return plan.cluster.slot_node[plan.placement.slots].tolist()


def test_the_traffic_placer_joins_what_was_measured_to_talk_most() -> None:
    current = slotwise.plan(uneven(), 90, allocator="lsa", placer="round-robin")
    assert current.threads == dict.fromkeys("abcd", 2)
    assert nodes_of(current) == [0, 0, 0, 0, 1, 1, 1, 1]
    # As if each thread of a exchanged all with one of d, and each of b with one of c.
    seen = measured(current, {(0, 7): 90.0, (1, 6): 90.0, (4, 3): 90.0, (5, 2): 90.0})
    again = slotwise.plan(
        uneven(), 90, allocator="lsa", placer="traffic", current=current, measured=seen
    )
    node = nodes_of(again)
    assert [node[0], node[1], node[4], node[5]] == [node[7], node[6], node[3], node[2]]
    assert "measured traffic" in again.reasons
    derived = slotwise.plan(uneven(), 90, allocator="lsa", placer="traffic")
    assert "traffic derived from streams" in derived.reasons


def test_measured_traffic_is_divided_where_threads_changed() -> None:
    current = slotwise.plan(uneven(), 40, allocator="lsa", placer="round-robin")
    assert current.threads == dict.fromkeys("abcd", 1)
    # As if a and d exchanged all, and b and c.
    seen = measured(current, {(0, 3): 90.0, (1, 2): 90.0})
    again = slotwise.plan(
        uneven(), 90, allocator="lsa", placer="traffic", current=current, measured=seen
    )
    node = nodes_of(again)
    assert set(node[:2]) == set(node[6:]) != set(node[2:4]) == set(node[4:6])


def test_a_plan_that_is_as_good_is_kept_on_its_machines() -> None:
    first = slotwise.plan("linear", 100, allocator="lsa", placer="traffic")
    again = slotwise.plan("linear", 100, allocator="lsa", placer="traffic", current=first)
    assert again.placement.slots.tolist() == first.placement.slots.tolist()
    assert any("the current placement is kept" in reason for reason in again.reasons)


def test_slots_of_machines_that_are_gone_are_not_in_effect() -> None:
    first = slotwise.plan(uneven(), 90, allocator="lsa", placer="traffic")
    names = [node.name for node in first.cluster.nodes]
    renamed = replace(
        first.cluster,
        nodes=tuple(replace(node, name=f"{node.name}-old") for node in first.cluster.nodes),
    )
    elsewhere = replace(first, cluster=renamed)
    again = slotwise.plan(uneven(), 90, allocator="lsa", placer="traffic", current=elsewhere)
    assert [node.name for node in again.cluster.nodes] == names
    assert not any("is kept" in reason for reason in again.reasons)


def test_what_was_measured_needs_its_plan_and_the_same_operators() -> None:
    current = slotwise.plan(uneven(), 90, allocator="lsa")
    seen = measured(current, {(0, 2): 1.0})
    with pytest.raises(SlotwiseError, match="pass it as current"):
        slotwise.plan(uneven(), 90, allocator="lsa", measured=seen)
    with pytest.raises(SlotwiseError, match="operators are not those of 'linear'"):
        slotwise.plan("linear", 90, current=current)


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
    rate, latency = missed(slotwise.plan(pipeline, allocator="mba", placer="sam").judged())
    assert "predicted capacity 80.0/s is below the goal of 100.0/s" in rate.reason
    assert "predicted mean latency is unbounded" in latency.reason


def test_no_rate_is_one_clear_sentence() -> None:
    with pytest.raises(SlotwiseError, match="no rate to plan 'linear' for"):
        slotwise.plan(replace(slotwise.load("linear"), goals=Goals()))


def test_a_plan_prints_in_one_line() -> None:
    assert str(slotwise.plan("linear", 100, allocator="mba", placer="sam")) == (
        "linear at 100 tuples/s by mba + sam: 335 threads in 7 slots on 2 machines, "
        "predicted capacity 80.0/s"
    )


def test_two_plans_tell_what_differs() -> None:
    small, large = (
        slotwise.plan("linear", rate, allocator="mba", placer="sam") for rate in (50, 100)
    )
    assert large.changes_from(large) == ()
    assert set(large.changes_from(small)) >= {
        "azure-blob: 80 → 170 threads",
        "azure-table: 70 → 160 threads",
        "machine d3-2 is new",
    }
    moved = slotwise.plan("linear", 100, allocator="mba", placer="round-robin").changes_from(large)
    assert len(moved) == 1
    assert moved[0].endswith("threads moved")


@pytest.mark.parametrize("enough", [5, 6, 20, 21, 22, 500, 999])
def test_the_first_number_of_slots_that_places_is_found(enough: int) -> None:
    tried = []

    def attempt(slots: int) -> fitting._Attempt:
        tried.append(slots)
        refusal = Refusal("fake", f"{slots} are too few", resource="cpu", missing=0.1)
        placement = Placement("fake", (1,), np.array([0]))
        return fitting._Attempt(slots, fixed(1), placement if slots >= enough else refusal)

    placed, refusal = fitting._fewest_slots(attempt, 5, 1000)
    assert placed.slots == enough
    assert refusal is None if enough == 5 else refusal.explanation == f"{enough - 1} are too few"
    assert len(tried) < 40


def test_a_placer_that_says_how_many_slots_it_lacks_is_believed() -> None:
    def attempt(slots: int) -> fitting._Attempt:
        lacking = Refusal("fake", "too few", resource="slots", missing=float(90 - slots))
        placement = Placement("fake", (1,), np.array([0]))
        return fitting._Attempt(slots, fixed(1), placement if slots >= 90 else lacking)

    placed, _ = fitting._fewest_slots(attempt, 5, 1000)
    assert placed.slots == 90
