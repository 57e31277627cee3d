"""The engine's own costs: what is predicted is what is simulated, on any plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings

from slotwise.model import Grouping, Hop, Plan, Platform, ServiceRate
from slotwise.prediction import predict
from slotwise.rates import arrival_rates
from slotwise.simulation import Arrivals, Keys, Routing, ServiceTimes, simulate
from slotwise.weights import weights
from tests.builders import cluster, topology
from tests.simulation import builders, strategies


@settings(max_examples=30, deadline=None)
@given(strategies.plans(), strategies.platforms)
def test_random_plans_take_the_time_and_the_cpu_that_is_predicted(
    plan: Plan, platform: Platform
) -> None:
    plan = _evenly(plan, platform)
    visits = arrival_rates(plan.pipeline.topology, 1.0, plan.allocation.threads).operators
    assume(visits.sum() < 60)
    capacity = predict(plan).capacity
    assume(0 < capacity < 1e9)
    rate = 0.5 * capacity
    foreseen = predict(plan, rate)
    seen = simulate(
        plan,
        rate,
        arrivals=Arrivals("constant"),
        service=ServiceTimes("deterministic"),
        routing=Routing("random", "random"),  # turns would go together with places
        tuples=5000,
        warm_up=0.0,
    )
    # Which way tuples take is drawn: the dearest hop counts some per cent more or less often.
    hop_ms = max(max(hop.send_us, hop.receive_us) / 1000 for hop in platform.hops)
    for expected, found in zip(foreseen.operators, seen.operators, strict=True):
        if found.service_ms is None or found.arrival_rate * 5000 / rate < 1000:
            continue
        sent = expected.emitted_rate / expected.arrival_rate
        apart_ms = 0.1 * hop_ms * (1 + sent) + 1e-6
        assert found.service_ms == pytest.approx(expected.service_ms, rel=0.02, abs=apart_ms)
        assert found.network_ms == pytest.approx(expected.network_ms, rel=0.02, abs=0.2)
    cpu = sum(slot.cpu for slot in foreseen.slots)
    assert sum(slot.cpu for slot in seen.slots) == pytest.approx(cpu, rel=0.1)


def _evenly(plan: Plan, platform: Platform) -> Plan:
    """What goes by key or stays local, and inputs of several groupings, are predicted in the mean
    over threads only: so all inputs of an operator have one grouping, and none of those two.
    """
    given: dict[str, Grouping] = {}
    for stream in plan.pipeline.topology.streams:
        known = stream.grouping.kind not in ("fields", "local-or-shuffle")
        given.setdefault(stream.target, stream.grouping if known else Grouping("shuffle"))
    streams = tuple(
        replace(each, grouping=given[each.target]) for each in plan.pipeline.topology.streams
    )
    topology = replace(plan.pipeline.topology, streams=streams)
    pipeline = replace(plan.pipeline, topology=topology, platform=platform)
    shares = weights(pipeline, plan.cluster, plan.placement)
    return replace(plan, pipeline=pipeline, weights=shares)


def test_a_hop_within_the_slot_is_cheaper_than_to_another_one() -> None:
    platform = Platform(
        slot_cpu=0.1,
        in_slot=Hop(100.0, 200.0, delay_ms=1.0),
        in_node=Hop(1000.0, 2000.0, delay_ms=3.0),
        between_nodes=Hop(3000.0, 4000.0, delay_ms=5.0),
        meter_us=10.0,
    )
    made = {}
    for slot in (0, 1, 2):
        plan = builders.plan(
            topology("a>b"), {"b": ServiceRate(100.0)}, slots=[0, slot], cluster=cluster(2, 2)
        )
        plan = replace(plan, pipeline=replace(plan.pipeline, platform=platform))
        made[slot] = simulate(plan, 10.0, service=ServiceTimes("deterministic"), tuples=1000)
    sending, receiving = zip(*(made[slot].operators for slot in made), strict=True)
    assert [load.service_ms for load in sending] == pytest.approx([0.11, 1.01, 3.01])
    assert [load.service_ms for load in receiving] == pytest.approx([10.21, 12.01, 14.01])
    assert [made[slot].network_ms for slot in made] == pytest.approx([1.0, 3.0, 5.0])
    used = [slot.cpu for slot in made[2].slots]
    assert used[1] == used[3] == 0.0
    assert used[0] == pytest.approx(0.1 + 10 * 3.01e-3, rel=0.02)


def test_an_idle_load_that_fills_a_slot_slows_all_its_threads() -> None:
    plan = builders.plan(topology("a>b"), {"b": ServiceRate(100.0)}, slots=[0, 1])
    idle = replace(plan, pipeline=replace(plan.pipeline, platform=Platform(slot_cpu=0.2)))
    seen = simulate(idle, 90.0, tuples=20_000)
    assert not seen.stable
    assert predict(idle).capacity == pytest.approx(80.0)
    assert seen.operators[1].capacity == pytest.approx(80.0)
    assert "over-committed" in " ".join(seen.remarks)


def test_buffers_take_cpu_of_slots_beside_their_threads() -> None:
    """200 tuples/s from one thread to two: each pair sends 100 / (1 + 100 · 5 ms) buffers/s."""
    hop = Hop(send_buffer_us=1000.0, receive_buffer_us=2000.0)
    served = {"b": ServiceRate(1000.0, cpu=0.5)}
    plan = builders.plan(topology("a>b"), served, {"b": 2}, slots=[0, 1, 1])
    buffered = Platform(in_node=hop, between_nodes=hop, flush_ms=5.0)
    plan = replace(plan, pipeline=replace(plan.pipeline, platform=buffered))
    seen = simulate(plan, 200.0, tuples=20_000)
    sent = 2 * 100 / 1.5
    assert [slot.cpu for slot in seen.slots[:2]] == pytest.approx(
        [sent * 1e-3, sent * 2e-3 + 0.1], rel=0.02
    )
    assert seen.operators[1].service_ms == pytest.approx(1.0, rel=0.05)


def test_buffers_that_fill_a_slot_slow_all_its_threads() -> None:
    hop = Hop(receive_buffer_us=2000.0)
    plan = builders.plan(topology("a>b"), {"b": ServiceRate(100.0)}, slots=[0, 1])
    buffered = Platform(in_node=hop, between_nodes=hop, flush_ms=5.0)
    plan = replace(plan, pipeline=replace(plan.pipeline, platform=buffered))
    seen = simulate(plan, 95.0, tuples=20_000)
    left = 1 - 2e-3 * 95 / (1 + 95 * 5e-3)
    assert seen.operators[1].capacity == pytest.approx(100 * left)
    assert not seen.stable
    assert "over-committed" in " ".join(seen.remarks)
    capacity = predict(plan).capacity
    assert capacity is not None
    assert simulate(plan, 0.99 * capacity, tuples=20_000).stable
    assert not simulate(plan, 1.01 * capacity, tuples=20_000).stable


def test_both_kernels_know_the_delay_of_each_stream() -> None:
    hop = Hop(delay_ms=3.0)
    platform = Platform(in_node=hop, flush_ms=4.0, buffer_bytes=10_240, record_kb=1.0)
    plan = builders.plan(topology("a>b", "a>c:0.1"), {"b": 1e5})
    plan = replace(plan, pipeline=replace(plan.pipeline, platform=platform))
    for kernel in ("feed-forward", "events"):
        seen = simulate(plan, 5000.0, tuples=20_000, kernel=kernel, keys=Keys())
        assert [load.network_ms for load in seen.operators] == pytest.approx([0.0, 2.0, 3.0])
