"""What comes out, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from slotwise.model import CommunicationSchedule, Grouping, ModelError, Placement, Schedule
from slotwise.prediction import predict
from slotwise.simulation import (
    Arrivals,
    Buffers,
    Keys,
    Network,
    Options,
    PlanChange,
    Routing,
    ServiceTimes,
    simulate,
)
from slotwise.simulation.run import run
from tests.builders import cluster, topology
from tests.simulation.builders import plan

CHAIN = plan(topology("a>b", "b>c"), {"b": 2.0, "c": 4.0}, rate=1.0)


def test_quantiles_are_those_of_all_tuples() -> None:
    done = run(CHAIN, None, Options(tuples=20_000), log_size=100_000)
    log = done.tally.log[: done.tally.logged[0]]
    last = log[(log[:, 0] == 2) & (log[:, 2] >= done.tally.warm_up)]
    latencies = np.sort(last[:, 5] - last[:, 2]) * 1000
    seen = simulate(CHAIN, tuples=20_000)
    for q, found in (
        (0.5, seen.latency_p50_ms),
        (0.95, seen.latency_p95_ms),
        (0.99, seen.latency_p99_ms),
    ):
        exact = latencies[max(0, math.ceil(q * len(latencies)) - 1)]
        assert found == pytest.approx(exact, rel=0.008)


def test_a_simulation_has_the_shape_of_a_prediction() -> None:
    found, predicted = simulate(CHAIN, tuples=400_000), predict(CHAIN)
    assert found.origin == "simulated"
    assert found.offered_rate == predicted.offered_rate == 1.0
    assert found.sojourn_ms == pytest.approx(predicted.sojourn_ms, rel=0.02)
    assert found.bottleneck == predicted.bottleneck == "b"
    assert [slot.name for slot in found.slots] == [slot.name for slot in predicted.slots]
    assert [node.name for node in found.nodes] == [node.name for node in predicted.nodes]
    for ours, theirs in zip(found.operators, predicted.operators, strict=True):
        assert ours.operator == theirs.operator
        assert ours.arrival_rate == pytest.approx(theirs.arrival_rate, rel=0.01)
        assert ours.capacity == theirs.capacity
    assert found.stable
    assert found.capacity is None, "it was not saturated"
    assert found.throughput == pytest.approx(predicted.throughput, rel=0.01)
    assert found.latency_ms == pytest.approx(predicted.latency_ms, rel=0.02)
    for ours, theirs in zip(found.streams, predicted.streams, strict=True):
        assert (ours.source, ours.target) == (theirs.source, theirs.target)
        assert ours.rate == pytest.approx(theirs.rate, rel=0.01)
        assert ours.selectivity == theirs.selectivity


def test_sojourn_is_all_that_an_input_causes_and_latency_is_per_tuple_at_a_sink() -> None:
    given = plan(topology("a>b:3", "b>c"), {"b": 10.0, "c": 5.0}, {"b": 3})
    found = simulate(
        given,
        0.1,
        arrivals=Arrivals("constant"),
        service=ServiceTimes("deterministic"),
        tuples=1000,
    )
    # Three threads of b take 0.1 s each; c takes them in turn: 0.2, 0.4, 0.6 s.
    assert found.sojourn_ms == pytest.approx(3 * 100 + 200 + 400 + 600)
    assert found.latency_ms == pytest.approx(100 + 400)


def test_an_unstable_system_ends_and_names_its_bottleneck() -> None:
    for kernel in ("feed-forward", "events"):
        found = simulate(CHAIN, 3.0, tuples=50_000, kernel=kernel)
        assert found.stable is False
        assert found.bottleneck == "b"
        assert found.capacity == found.throughput == pytest.approx(2.0, rel=0.02)
        assert found.latency_slope == pytest.approx(500, rel=0.1), "ms that latency grows per s"
        assert "'b' is the bottleneck" in found.remarks[0]


def test_sources_stop_when_too_many_tuples_are_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotwise.simulation.run.MOST_UNDER_WAY", 20_000)
    for kernel in ("feed-forward", "events"):
        found = simulate(CHAIN, 300.0, tuples=500_000, kernel=kernel)
        assert found.stable is False
        assert any("sources were stopped" in remark for remark in found.remarks)


def test_a_stable_system_at_high_load_is_called_stable() -> None:
    for seed in range(5):
        assert simulate(CHAIN, 1.9, tuples=100_000, seed=seed).stable


def test_traffic_between_threads_slots_and_nodes() -> None:
    given = plan(topology("a>b"), {}, {"a": 1, "b": 2}, cluster=cluster(2, 2), slots=[0, 1, 2])
    found = simulate(given, 10.0, arrivals=Arrivals("constant"), tuples=1000, warm_up=0.0)
    assert found.thread_traffic.senders.tolist() == [0, 0]
    assert found.thread_traffic.receivers.tolist() == [1, 2]
    assert found.thread_traffic.rates == pytest.approx([5.0, 5.0])
    assert found.slot_traffic.receivers.tolist() == [1, 2]
    assert found.node_traffic.rates == pytest.approx([5.0, 5.0])
    assert found.inter_slot_traffic == pytest.approx(10.0)
    assert found.inter_node_traffic == pytest.approx(5.0)


def test_traffic_is_still_counted_by_distance_where_pairs_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = plan(topology("a>b"), {}, {"b": 2}, cluster=cluster(2, 2), slots=[0, 1, 2])
    whole = simulate(given, 10.0, tuples=1000)
    monkeypatch.setattr("slotwise.simulation.kernels.world.MOST_PAIRS", 0)
    found = simulate(given, 10.0, tuples=1000)
    assert found.thread_traffic is None
    assert found.inter_slot_traffic == pytest.approx(whole.inter_slot_traffic)
    assert found.inter_node_traffic == pytest.approx(whole.inter_node_traffic)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(ModelError, match="rate"):
        simulate(CHAIN, rate)


def test_a_plan_that_does_not_fit_its_topology_is_refused() -> None:
    other = plan(topology("a>b", "b>d"), {})
    with pytest.raises(ModelError, match="operators of topology"):
        simulate(replace(CHAIN, allocation=other.allocation))
    with pytest.raises(ModelError, match="2 are placed"):
        simulate(replace(CHAIN, placement=Placement("x", (1, 2, 1), np.zeros(4))))
    with pytest.raises(ModelError, match="for 2 operators"):
        simulate(replace(CHAIN, placement=Placement("x", (1, 2), np.zeros(3))))
    with pytest.raises(ModelError, match="slots that do not exist"):
        simulate(replace(CHAIN, placement=Placement("x", (1, 1, 1), np.array([0, 1, 9]))))


@pytest.mark.parametrize(
    "options",
    [
        {"tuples": 0},
        {"duration_s": 0.0},
        {"tuples": 5, "duration_s": 1.0},
        {"warm_up": 1.0},
        {"windows": 0},
        {"seed": -1},
        {"kernel": "slow"},
        {"service": {"nobody": ServiceTimes()}},
        {"arrivals": Arrivals(schedule=Schedule(((0.0, 1.0), (1.0, 0.0)))), "tuples": 1000},
    ],
)
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        simulate(CHAIN, **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Arrivals("often"),
        lambda: Arrivals("trace"),
        lambda: Arrivals("trace", trace_s=(2.0, 1.0)),
        lambda: Arrivals(spread=1.0),
        lambda: ServiceTimes("odd"),
        lambda: ServiceTimes("gamma"),
        lambda: ServiceTimes("exponential", 2.0),
        lambda: ServiceTimes("gamma", -1.0),
        lambda: ServiceTimes("samples"),
        lambda: ServiceTimes("samples", samples=(0.0,)),
        lambda: Keys("odd"),
        lambda: Keys(number=0),
        lambda: Keys("recorded"),
        lambda: Keys("recorded", recorded=(0.0,)),
        lambda: Keys(forwarded=2.0),
        lambda: Routing(shuffle="odd"),
        lambda: Network(send_ms=-1.0),
        lambda: Network(step_ms=0.0),
        lambda: Buffers(0),
        lambda: Buffers(node_capacity=0),
        lambda: Buffers(1, "burst"),
        lambda: Buffers(1, "lose", 0.0),
        lambda: Buffers(1, "block", 1.0),
        lambda: PlanChange(0.0, CHAIN),
        lambda: PlanChange(1.0, CHAIN, -1.0),
    ],
)
def test_bad_values_are_refused_when_they_are_made(make: object) -> None:
    with pytest.raises(ModelError):
        make()


def test_weighted_grouping_needs_weights_and_a_schedule_must_let_nodes_talk() -> None:
    shape = topology("a>b")
    weighted = replace(shape, streams=(replace(shape.streams[0], grouping=Grouping("weighted")),))
    with pytest.raises(ModelError, match="no weights"):
        simulate(plan(weighted, {}, weights={"b": ()}))
    mute = plan(shape, {}, cluster=cluster(2, 1))
    schedule = CommunicationSchedule(np.array([[0, 1]]))
    mute = replace(mute, placement=replace(mute.placement, schedule=schedule))
    with pytest.raises(ModelError, match="never lets"):
        simulate(mute)
