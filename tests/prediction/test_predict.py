"""Predictions: paper 1's shares, over-committed slots, weights, latency with the network."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import slotwise
from slotwise.keys import NUMBER, keys_of_threads
from slotwise.model import (
    Allocation,
    Cluster,
    FixedLoad,
    Grouping,
    NetworkDelays,
    Node,
    Operator,
    Pipeline,
    Placement,
    Plan,
    Profile,
    Profiles,
    ServiceRate,
    Stream,
    TaskCosts,
    ThreadRow,
    ThreadTable,
    Topology,
)
from slotwise.prediction import predict
from slotwise.queueing import sojourn
from slotwise.weights import weights
from tests import plannable
from tests.builders import cluster, topology

FAST = FixedLoad(1)
NO_DELAYS = NetworkDelays(0, 0, 0, 0)


def plan_of(
    of: Topology,
    profiles: dict[str, Profile],
    slots: dict[str, list[int]],
    rate: float = 100.0,
    on: Cluster | None = None,
    network: NetworkDelays = NO_DELAYS,
) -> Plan:
    """A plan made by hand: `slots` names the slot of each thread of each operator."""
    on = on or cluster(4, slots=2, racks=2)
    pipeline = Pipeline(of, Profiles(profiles, 3.5 * 1024), cluster=on, network=network)
    threads = tuple(len(slots[o.name]) for o in of.operators)
    placement = Placement("by hand", threads, np.concatenate([slots[o.name] for o in of.operators]))
    shares = weights(pipeline, on, placement)
    return Plan(pipeline, rate, Allocation("by hand", rate, ()), on, on.slots, 0, placement, shares)


def table(*rows: tuple[int, float, float]) -> ThreadTable:
    return ThreadTable(tuple(ThreadRow(n, rate, cpu, 0.1) for n, rate, cpu in rows))


def test_diamond_at_100_splits_160_table_threads_as_the_paper_says() -> None:
    plan = slotwise.plan("diamond", 100, allocator="mba", placer="sam")
    position = plan.pipeline.topology.index["azure-table"]
    operators, slots, counts = plan.placement.groups
    assert sorted(counts[operators == position].tolist()) == [40, 60, 60]
    # Shuffle sends the slots 37.5, 37.5 and 25 tuples/s; the model wants 40, 40 and 20, so the
    # third saturates at 100 · 20/25 = 80.
    assert plan.predicted is not None
    assert plan.predicted.capacity == pytest.approx(80)
    assert plan.predicted.proportional_capacity == pytest.approx(100)
    per_slot = {
        int(slot): sum(
            weight
            for weight, where in zip(
                plan.weights["azure-table"],
                plan.placement.slots[plan.placement.thread_operator == position],
                strict=True,
            )
            if where == slot
        )
        for slot in slots[operators == position]
    }
    assert sorted(per_slot.values()) == pytest.approx([0.2, 0.4, 0.4])


def test_the_slot_with_the_least_rate_per_thread_saturates_first() -> None:
    model = table((1, 10, 0.1), (3, 12, 0.1))  # 10 per thread alone, 4 per thread among three
    places = {"in": [7], "a": [0, 1, 1, 1]}
    auto = predict(plan_of(topology("in>a"), {"in": FAST, "a": model}, places))
    plain = topology("in>a")
    shuffled = replace(plain, streams=(Stream("in", "a", grouping=Grouping("shuffle")),))
    even = predict(plan_of(shuffled, {"in": FAST, "a": model}, places))
    assert even.shuffle_capacity == auto.shuffle_capacity == pytest.approx(16)
    assert even.proportional_capacity == auto.proportional_capacity == pytest.approx(22)
    assert (even.capacity, auto.capacity) == (even.shuffle_capacity, auto.proportional_capacity)


def test_interpolates_between_modelled_thread_counts() -> None:
    plan = plan_of(
        topology("in>a"),
        {"in": FAST, "a": table((1, 10, 0.1), (3, 20, 0.1))},
        {"in": [7], "a": [0, 0]},
    )
    assert predict(plan).capacity == pytest.approx(15)


def test_an_over_committed_slot_slows_all_its_threads_in_proportion() -> None:
    busy = {"in": FAST, "a": table((1, 100, 0.8)), "b": table((1, 100, 0.8))}
    apart = plan_of(topology("in>a", "a>b"), busy, {"in": [7], "a": [0], "b": [1]})
    together = plan_of(topology("in>a", "a>b"), busy, {"in": [7], "a": [0], "b": [0]})
    assert predict(apart).capacity == pytest.approx(100)
    assert predict(together).capacity == pytest.approx(100 / 1.6)
    assert predict(together).slots[0].cpu == pytest.approx(1.6)
    assert math.isinf(predict(together).sojourn_ms)


def test_weights_relieve_a_slot_that_others_need() -> None:
    # a's thread in slot 0 shares it with b, which takes half of the slot at 100/s.
    busy = {"in": FAST, "a": table((1, 60, 0.9)), "b": table((1, 200, 1.0))}
    plan = plan_of(topology("in>a", "a>b"), busy, {"in": [7], "a": [0, 1], "b": [0]})
    predicted = predict(plan)
    assert plan.weights["a"][0] < plan.weights["a"][1]
    assert predicted.proportional_capacity > predicted.shuffle_capacity
    # At R: slot 0 has 0.9·x/60 + R/200 ≤ 1 with x = R - 60 in it.
    assert predicted.proportional_capacity == pytest.approx(1.9 / (0.9 / 60 + 1 / 200))


def test_memory_of_task_costs_counts_what_is_sent() -> None:
    """Equation 2 of paper 3: 50 tuples/s in, 250 out, 2 MB each."""
    costs = {"in": FAST, "a": TaskCosts(0.1, memory_mb=2.0), "b": FAST}
    plan = plan_of(topology("in>a", "a>b:5"), costs, {"in": [7], "a": [0], "b": [1]}, rate=50.0)
    assert predict(plan).slots[0].mem == pytest.approx((50 + 250) * 2 / 3584)


def test_a_faster_node_does_more_at_the_same_load() -> None:
    fast = Cluster((Node("n", 1, 3.5, speed=2.0), Node("m", 1, 3.5)), 3.5)
    plan = plan_of(
        topology("in>a"), {"in": FAST, "a": table((1, 100, 0.8))}, {"in": [1], "a": [0]}, on=fast
    )
    assert predict(plan).capacity == pytest.approx(200)
    assert predict(plan, 200.0).nodes[0].cpu == pytest.approx(0.8)


def test_cpu_and_memory_scale_with_the_actual_rate() -> None:
    plan = plan_of(topology("in>a"), {"in": FAST, "a": table((1, 100, 0.8))}, {"in": [7], "a": [0]})
    load = predict(plan, 50.0).slots[0]
    assert (load.name, load.cpu, load.mem) == ("n0/0", pytest.approx(0.4), pytest.approx(0.05))
    node = predict(plan, 50.0).nodes[0]
    assert (node.cpu, node.mem) == (pytest.approx(0.2), pytest.approx(0.025))


def test_global_grouping_loads_thread_0_alone() -> None:
    of = Topology(
        "top",
        (Operator("in", "source"), Operator("a")),
        (Stream("in", "a", grouping=Grouping("global")),),
    )
    plan = plan_of(
        of, {"in": FAST, "a": table((1, 10, 0.1), (2, 16, 0.2))}, {"in": [7], "a": [0, 0]}
    )
    assert predict(plan).capacity == pytest.approx(8)  # thread 0's half of what two do together


def test_weighted_grouping_reaches_the_proportional_capacity() -> None:
    of = Topology(
        "weighted",
        (Operator("in", "source"), Operator("a")),
        (Stream("in", "a", grouping=Grouping("weighted")),),
    )
    model = table((1, 10, 0.1), (3, 12, 0.1))
    predicted = predict(plan_of(of, {"in": FAST, "a": model}, {"in": [7], "a": [0, 1, 1, 1]}))
    assert predicted.capacity == pytest.approx(predicted.proportional_capacity) == pytest.approx(22)


def test_paper_5s_latency_is_jacksons_with_the_networks_share() -> None:
    served = {"in": FAST, "a": ServiceRate(30.0), "b": ServiceRate(50.0, service_scv=0.5)}
    of = topology("in>a", "a>b:0.5", "b>a:0.2!")
    network = NetworkDelays(slot_ms=0, node_ms=1, rack_ms=2, cluster_ms=4)
    plan = plan_of(of, served, {"in": [0], "a": [0, 1], "b": [2]}, rate=20.0, network=network)
    predicted = predict(plan)
    a = 20 / (1 - 0.5 * 0.2)
    at_work = a * sum(sojourn(2, a, 30.0)) + 0.5 * a * sum(sojourn(1, 0.5 * a, 50.0, 0.75))
    # in → a: half stays in slot 0, half goes to slot 1 of the node; a ↔ b: to a node of the rack.
    travel = 20 * (0.5 * 0 + 0.5 * 1) + 0.5 * a * 2 + 0.1 * a * 2
    assert predicted.network_ms == pytest.approx(travel / 20)
    by_operator = [load.network_ms for load in predicted.operators]
    assert by_operator == pytest.approx([0, (20 * 0.5 + 0.1 * a * 2) / a, 2])
    assert predicted.shared_queue_sojourn_ms == pytest.approx(at_work / 20 * 1000 + travel / 20)
    assert predicted.inter_node_traffic == pytest.approx(0.5 * a + 0.1 * a)
    assert predicted.inter_slot_traffic == pytest.approx(10 + 0.5 * a + 0.1 * a)


@pytest.mark.parametrize("scv", [4.0, 100.0, 2000.0])
def test_a_thread_that_is_seldom_busy_makes_no_bursts_of_its_tuples(scv: float) -> None:
    """Poisson arrivals leave M/G/1 with a scv of 1 + ρ²(scv - 1) (Whitt's QNA)."""
    served = {"in": FAST, "a": ServiceRate(20_000.0, service_scv=scv), "b": ServiceRate(30.0)}
    plan = plan_of(topology("in>a", "a>b"), served, {"in": [0], "a": [1], "b": [2]}, rate=15.0)
    waiting_ms = predict(plan).operators[2].waiting_ms
    assert waiting_ms == pytest.approx(1000 * (15 / 30) / (30 - 15), rel=0.01)


def test_one_thread_each_has_the_same_latency_under_either_kind_of_queue() -> None:
    served = {"in": FAST, "a": ServiceRate(30.0), "b": ServiceRate(50.0)}
    of = topology("in>a", "a>b")
    predicted = predict(plan_of(of, served, {"in": [0], "a": [1], "b": [2]}, rate=20.0))
    assert predicted.sojourn_ms == pytest.approx(predicted.shared_queue_sojourn_ms)
    assert predicted.latency_ms == pytest.approx(predicted.shared_queue_latency_ms)


def test_queues_per_thread_lie_between_one_queue_and_random_splitting() -> None:
    served = {"in": FAST, "a": ServiceRate(30.0)}
    plan = plan_of(topology("in>a"), served, {"in": [0], "a": [1, 2, 3, 4]}, rate=96.0)
    predicted = predict(plan)
    random_splitting_ms = 1000 / (30 - 96 / 4)
    assert predicted.shared_queue_sojourn_ms < predicted.sojourn_ms < random_splitting_ms
    hashed = replace(
        plan.pipeline.topology, streams=(Stream("in", "a", grouping=Grouping("fields", ("k",))),)
    )
    by_key = predict(replace(plan, pipeline=replace(plan.pipeline, topology=hashed)))
    # Tuples are split at random; and a thread with more keys than others makes its tuples wait.
    assert random_splitting_ms < by_key.sojourn_ms < 1.1 * random_splitting_ms


def test_the_thread_with_most_keys_limits_the_capacity() -> None:
    of = Topology(
        "keyed",
        (Operator("in", "source"), Operator("a")),
        (Stream("in", "a", grouping=Grouping("fields", ("k",))),),
    )
    served = {"in": FAST, "a": ServiceRate(30.0, cpu=0.1)}
    predicted = predict(plan_of(of, served, {"in": [0], "a": [1, 1, 2]}, rate=50.0))
    assert predicted.capacity == pytest.approx(30.0 / (keys_of_threads(3).max() / NUMBER))
    assert predicted.shuffle_capacity == pytest.approx(90.0)


def test_transfers_between_nodes_take_time_and_cpu_at_both_ends() -> None:
    costs = TaskCosts(cpu_points=1.0, transfer_points=0.1)
    of = topology("in>a", "a>b:2")
    profiles = {"in": FAST, "a": costs, "b": costs}
    together = predict(plan_of(of, profiles, {"in": [0], "a": [0], "b": [1]}, rate=10.0))
    apart = predict(plan_of(of, profiles, {"in": [0], "a": [0], "b": [2]}, rate=10.0))
    # a sends two tuples for each that it handles, b receives each; 10 + 20 and 20 + 20 ms.
    assert [load.service_ms for load in together.operators] == pytest.approx([0, 10, 10])
    assert [load.service_ms for load in apart.operators] == pytest.approx([0, 12, 11])
    assert apart.capacity == pytest.approx(1000 / 11 / 2)
    assert [load.cpu for load in apart.operators[1:]] == pytest.approx([0.12, 0.22])
    # What transfers add does not vary.
    assert apart.operators[1].service_scv == pytest.approx((10 / 12) ** 2)


def test_unequal_slots_are_waited_for_longer() -> None:
    served = {"in": FAST, "a": table((1, 30, 0.1), (2, 50, 0.1))}
    even = plan_of(topology("in>a"), served, {"in": [0], "a": [1, 2]}, rate=40.0)
    crowded = plan_of(topology("in>a"), served, {"in": [0], "a": [1, 1]}, rate=40.0)
    assert predict(crowded).sojourn_ms > predict(even).sojourn_ms


def test_distance_classes() -> None:
    network = NetworkDelays(slot_ms=1, node_ms=10, rack_ms=100, cluster_ms=1000)
    served = {"in": FAST, "a": FAST}

    def travel(slot: int) -> float:
        plan = plan_of(topology("in>a"), served, {"in": [0], "a": [slot]}, network=network)
        return predict(plan).network_ms

    assert [travel(slot) for slot in (0, 1, 2, 4)] == [1, 10, 100, 1000]


def test_local_or_shuffle_stays_where_it_can() -> None:
    of = Topology(
        "local",
        (Operator("in", "source"), Operator("a")),
        (Stream("in", "a", grouping=Grouping("local-or-shuffle")),),
    )
    plan = plan_of(of, {"in": FixedLoad(2), "a": FixedLoad(2)}, {"in": [0, 4], "a": [0, 2]})
    # Thread 0 of `in` keeps its half; thread 1's half goes evenly to slots 0 and 2.
    assert predict(plan).inter_slot_traffic == pytest.approx(50)


def test_an_overloaded_operator_has_no_bounded_latency() -> None:
    plan = plan_of(topology("in>a"), {"in": FAST, "a": ServiceRate(10.0)}, {"in": [7], "a": [0]})
    predicted = predict(plan, 11.0)
    assert math.isinf(predicted.sojourn_ms)
    assert predicted.bottleneck == "a"
    assert predict(plan, 9.0).sojourn_ms == pytest.approx(1000)


@settings(max_examples=60, deadline=None)
@given(plannable.plans())
def test_on_any_placement(plan: Plan) -> None:
    predicted = predict(plan)
    assert predicted == predict(plan)
    names = [operator.name for operator in plan.pipeline.topology.operators]
    if not any(plan.pipeline.profiles.transfer_cpu(name) for name in names):
        # Otherwise routing changes what transfers cost, too.
        assert predicted.proportional_capacity >= predicted.shuffle_capacity * (1 - 1e-6)
    if predicted.latency_ms is not None:
        assert predicted.latency_p50_ms <= predicted.latency_p95_ms <= predicted.latency_p99_ms
        assert math.isinf(predicted.latency_p99_ms) == math.isinf(predicted.latency_ms)
    for shares in plan.weights.values():
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0
    weighted = replace(
        plan.pipeline.topology,
        streams=tuple(
            replace(stream, grouping=Grouping("weighted"))
            for stream in plan.pipeline.topology.streams
        ),
    )
    if all(s.grouping.kind not in ("all", "global") for s in plan.pipeline.topology.streams):
        routed = replace(plan, pipeline=replace(plan.pipeline, topology=weighted))
        assert predict(routed).capacity == pytest.approx(predicted.proportional_capacity)
    # At the sustained rate no slot is short of CPU (fixed loads could be, at any rate).
    profiles = plan.pipeline.profiles.by_operator.values()
    if predicted.capacity > 0 and not any(isinstance(p, FixedLoad) for p in profiles):
        assert all(slot.cpu <= 1 + 1e-6 for slot in predict(plan, predicted.capacity).slots)
    traffic = predicted.inter_node_traffic
    assert -1e-6 <= traffic <= predicted.inter_slot_traffic * (1 + 1e-9) + 1e-6
