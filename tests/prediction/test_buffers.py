"""What slots take for buffers between pairs of threads: by hand, by listing all pairs, measured."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.typing import NDArray

from slotwise.model import (
    Grouping,
    Hop,
    Measurement,
    Plan,
    Platform,
    Profile,
    ProfileForms,
    ServiceRate,
    ThreadRow,
    ThreadTable,
    Topology,
)
from slotwise.model.topology import GroupingKind
from slotwise.prediction import predict
from slotwise.prediction.groups import groups_of, shares_by_weight
from slotwise.prediction.overheads import overheads_of
from slotwise.prediction.rate import own_shares, stream_shares
from slotwise.rates import arrival_rates
from slotwise.weights import weights
from tests.builders import topology
from tests.prediction.test_predict import FAST, plan_of
from tests.simulation import strategies

PLATFORM = Platform(
    in_slot=Hop(send_buffer_us=10.0, receive_buffer_us=20.0),
    in_node=Hop(send_buffer_us=100.0, receive_buffer_us=200.0),
    between_nodes=Hop(send_buffer_us=1000.0, receive_buffer_us=2000.0),
    flush_ms=5.0,
)
SPARK = Platform(
    slot_cpu=0.0275, in_node=Hop(send_buffer_us=150.0, receive_buffer_us=150.0), flush_ms=5.0
)
QUOTA = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", cores=1.0)


def on(platform: Platform, plan: Plan) -> Plan:
    return replace(plan, pipeline=replace(plan.pipeline, platform=platform))


def cpu(plan: Plan, rate: float) -> list[float]:
    return [slot.cpu or 0.0 for slot in predict(plan, rate).slots]


def grouped(kind: GroupingKind, of: Topology) -> Topology:
    return replace(of, streams=tuple(replace(s, grouping=Grouping(kind)) for s in of.streams))


def pairs(kind: GroupingKind = "shuffle") -> Plan:
    """Two threads that send to three: slots 0 and 1 are on one node, slot 2 is on another."""
    slots = {"a": [0, 1], "b": [0, 1, 2]}
    return on(PLATFORM, plan_of(grouped(kind, topology("a>b")), {"a": FAST, "b": FAST}, slots))


def test_every_pair_of_threads_sends_its_own_buffers() -> None:
    """100 tuples/s between two threads are 100 / (1 + 100 · 5 ms) buffers/s."""
    sent = 100 / 1.5
    near = sent * (10 + 100 + 1000 + 20 + 200) / 1e6
    assert cpu(pairs(), 600.0)[:4] == pytest.approx([near, near, sent * 2 * 2000 / 1e6, 0.0])


def test_global_grouping_has_one_receiver() -> None:
    sent = 300 / 2.5
    first, second = sent * (10 + 20 + 200) / 1e6, sent * 100 / 1e6
    assert cpu(pairs("global"), 600.0)[:3] == pytest.approx([first, second, 0.0])


def test_all_threads_get_each_tuple() -> None:
    assert cpu(pairs("all"), 200.0) == pytest.approx(cpu(pairs(), 600.0))


def test_local_or_shuffle_has_pairs_within_the_slot_where_there_are_some() -> None:
    sent = 300 / 2.5
    assert cpu(pairs("local-or-shuffle"), 600.0)[:3] == pytest.approx([sent * 30 / 1e6] * 2 + [0.0])
    apart = plan_of(
        grouped("local-or-shuffle", topology("a>b")),
        {"a": FAST, "b": FAST},
        {"a": [0, 3], "b": [0, 0, 2]},
    )
    kept, left = 150 / 1.75, 100 / 1.5
    expected = [
        kept * 2 * 30 / 1e6 + left * 2 * 2000 / 1e6,
        0.0,
        left * 200 / 1e6,
        left * (2 * 1000 + 100) / 1e6,
    ]
    assert cpu(on(PLATFORM, apart), 600.0)[:4] == pytest.approx(expected)


def test_cpu_counts_in_slots() -> None:
    quarter = on(replace(PLATFORM, cores=0.25), pairs())
    assert cpu(quarter, 600.0) == pytest.approx([4 * each for each in cpu(pairs(), 600.0)])


@settings(max_examples=60, deadline=None)
@given(strategies.plans(), strategies.buffered_platforms)
def test_groups_of_threads_take_what_their_pairs_take_one_by_one(
    plan: Plan, platform: Platform
) -> None:
    plan = on(platform, plan)
    unit = arrival_rates(plan.pipeline.topology, 1.0, plan.placement.threads)
    groups = groups_of(plan.pipeline, plan.cluster, plan.placement)
    by_weight = shares_by_weight(groups, plan, plan.cluster.slots)
    shares = own_shares(groups, plan.pipeline.topology, unit, by_weight)
    receiving = stream_shares(groups, plan.pipeline.topology, by_weight)
    charged = overheads_of(plan.pipeline, plan.cluster, groups, unit).charged(shares, receiving)
    assert charged.buffers is not None
    listed = _one_by_one(plan, shares, by_weight)
    assert charged.buffers.cpu(plan.rate) == pytest.approx(listed, rel=2e-3, abs=1e-12)


def _one_by_one(
    plan: Plan, shares: NDArray[np.float64], by_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Per slot, the sum over all pairs of threads."""
    pipeline, cluster, slots = plan.pipeline, plan.cluster, plan.placement.slots
    groups = groups_of(pipeline, cluster, plan.placement)
    group, first = groups.of_threads(plan.placement), plan.allocation.first_thread
    rates = arrival_rates(pipeline.topology, plan.rate, plan.placement.threads)
    total = np.zeros(cluster.slots)
    for number, (source, target) in enumerate(pipeline.topology.edges):
        kind = pipeline.topology.streams[number].grouping.kind
        receivers = range(first[target], first[target + 1])
        even = np.full(len(groups.threads), 1 / len(receivers)) * groups.threads
        routed = {"global": groups.leads * 1.0, "weighted": by_weight, "fields": groups.keyed}
        part = routed.get(kind, even) / groups.threads
        for sender in range(first[source], first[source + 1]):
            sends = rates.streams[number] * shares[group[sender]] / groups.threads[group[sender]]
            to = [(each, part[group[each]]) for each in receivers]
            beside = [each for each in receivers if slots[each] == slots[sender]]
            if kind == "local-or-shuffle" and beside:
                to = [(each, 1 / len(beside)) for each in beside]
            for receiver, share in to:
                sent = float(pipeline.platform.buffers_per_s(np.array([sends * share]))[0])
                here, there = int(slots[sender]), int(slots[receiver])
                near = cluster.slot_node[here] == cluster.slot_node[there]
                hop = pipeline.platform.hops[0 if here == there else 1 if near else 2]
                total[here] += sent * hop.send_buffer_us / 1e6 / pipeline.platform.cores
                total[there] += sent * hop.receive_buffer_us / 1e6 / pipeline.platform.cores
    return total


@settings(max_examples=25, deadline=None)
@given(strategies.plans(), strategies.buffered_platforms)
def test_a_slot_s_cpu_never_falls_with_the_rate_and_is_all_used_at_the_capacity(
    plan: Plan, platform: Platform
) -> None:
    parts = {of: np.array(given) / sum(given) for of, given in plan.weights.items()}
    plan = on(platform, replace(plan, weights={of: tuple(parts[of].tolist()) for of in parts}))
    capacity = predict(plan).capacity
    assert capacity is not None
    assume(0 < capacity < 1e9)
    used = [np.array(cpu(plan, part * capacity)) for part in (0.1, 0.5, 0.999, 1.01)]
    assert all(np.all(more >= less - 1e-9) for less, more in pairwise(used))
    # Slots with fixed loads only hold nobody up.
    groups = groups_of(plan.pipeline, plan.cluster, plan.placement)
    unit = arrival_rates(plan.pipeline.topology, 1.0, plan.placement.threads)
    even = overheads_of(plan.pipeline, plan.cluster, groups, unit).charged(groups.even_shares())
    slowed = np.unique(even.slot[~even.fixed])
    assert np.all(used[2][slowed] <= 1 + 1e-9)
    below, above = (predict(plan, part * capacity).latency_ms for part in (0.999, 1.01))
    assert below is None or below < np.inf
    assert above is None or above == np.inf


@settings(max_examples=15, deadline=None)
@given(strategies.plans())
def test_buffers_that_cost_nothing_change_nothing(plan: Plan) -> None:
    hop = Hop(send_us=20.0, receive_us=30.0)
    hops = Platform(slot_cpu=0.02, in_node=hop, between_nodes=hop)
    often = replace(hops, flush_ms=5.0, buffer_bytes=1000.0, record_kb=0.0)
    assert predict(on(often, plan)) == predict(on(hops, plan))


def test_the_capacity_is_where_the_slot_is_full() -> None:
    """1 ms each at one thread, and buffers: R ms + 2 · 100 µs · R / (1 + R · 5 ms) = 1."""
    served: dict[str, Profile] = {"in": FAST, "a": ServiceRate(2000.0, cpu=2.0), "b": FAST}
    plan = plan_of(topology("in>a", "a>b"), served, {"in": [1], "a": [0], "b": [1]})
    hop = Hop(send_buffer_us=100.0, receive_buffer_us=100.0)
    plan = on(Platform(in_node=hop, flush_ms=5.0), plan)
    predicted = predict(plan)
    rate = predicted.capacity
    assert rate is not None
    assert rate / 1000 + 200e-6 * rate / (1 + 0.005 * rate) == pytest.approx(1.0, rel=1e-9)
    assert predicted.bottleneck == "a"
    assert cpu(plan, 0.999 * rate)[0] < 1 < cpu(plan, 1.01 * rate)[0]
    assert predict(plan, 1.01 * rate).latency_ms == float("inf")


def test_a_slot_that_buffers_alone_fill_holds_up_threads_that_only_wait() -> None:
    served: dict[str, Profile] = {"in": FAST, "a": ServiceRate(1e6, cpu=0.0), "b": FAST}
    plan = plan_of(topology("in>a", "a>b"), served, {"in": [1], "a": [0], "b": [1]})
    hop = Hop(send_buffer_us=5000.0, receive_buffer_us=5000.0)
    predicted = predict(on(Platform(in_node=hop, flush_ms=5.0), plan))
    # 100 buffers/s each way: R / (1 + R · 5 ms) = 100.
    assert predicted.capacity == pytest.approx(200.0)
    assert predicted.bottleneck == "a"


def test_buffers_that_never_fill_a_slot_do_not_limit_operators_without_a_limit() -> None:
    plan = plan_of(topology("a>b"), {"a": FAST, "b": FAST}, {"a": [0], "b": [1]})
    assert predict(on(SPARK, plan)).capacity == float("inf")


def passing(threads: int, rate: float) -> float:
    """CPU of the slot of an operator that does nothing, its input and output outside."""
    served: dict[str, Profile] = {"in": FAST, "a": ServiceRate(1e9, cpu=0.0), "b": FAST}
    slots = {"in": [1], "a": [0] * threads, "b": [1]}
    return cpu(on(SPARK, plan_of(topology("in>a", "a>b"), served, slots)), rate)[0]


def test_a_slot_that_passes_tuples_on_takes_about_what_was_measured_on_spark() -> None:
    """The measured figures scatter: four of ten steps to a higher rate take less CPU."""
    rates = (50.0, 200.0, 1000.0, 5000.0, 20_000.0, 60_000.0)
    measured = {
        1: (0.068, 0.096, 0.094, 0.12, 0.13, 0.12),
        4: (0.048, 0.10, 0.22, 0.20, 0.26, 0.23),
    }
    found = {threads: [passing(threads, rate) for rate in rates] for threads in measured}
    off = [np.array(found[threads]) / measured[threads] - 1 for threads in measured]
    assert np.abs(off).mean() < 0.25
    assert np.abs(off).max() < 0.45
    # Pairs that are full of tuples send 200 buffers/s each way, however many tuples that is.
    assert found[4][-1] - 0.0275 == pytest.approx(4 * (found[1][-1] - 0.0275), rel=0.02)
    assert found[4][-1] == pytest.approx(0.0275 + 4 * 2 * 200 * 150e-6, rel=0.02)


def measured(threads: int, rate: float, cpu: float) -> ProfileForms:
    row = ThreadRow(threads, rate, cpu, 0.1)
    return ProfileForms(ThreadTable((row,)), measurement=QUOTA)


def alone(profile: ProfileForms, threads: int, beside: int) -> Plan:
    """In slot 0, with its input from `beside` and its output to it."""
    slots = {"in": [beside], "a": [0] * threads, "b": [beside]}
    served: dict[str, Profile] = {"in": FAST, "a": profile, "b": FAST}
    return on(SPARK, plan_of(topology("in>a", "a>b:0.5"), served, slots))


@pytest.mark.parametrize(("threads", "used"), [(1, 0.5), (4, 0.5), (4, 1 - 0.0275), (4, 0.1)])
def test_where_it_was_measured_a_profile_holds_at_its_peak(threads: int, used: float) -> None:
    plan = alone(measured(threads, 500.0, used), threads, beside=1)
    assert predict(plan).capacity == pytest.approx(500.0)
    assert cpu(plan, 500.0)[0] == pytest.approx(used + 0.0275)


def test_a_measured_profile_s_buffers_are_taken_off_where_there_are_none() -> None:
    """Within its slot buffers cost nothing on this platform."""
    buffers = 4 * 150e-6 * (125 / 1.625 + 62.5 / 1.3125)
    waiting = alone(measured(4, 500.0, 0.5), 4, beside=0)
    assert predict(waiting).operators[1].capacity == pytest.approx(500.0)
    assert cpu(waiting, 500.0)[0] == pytest.approx(0.5 - buffers + 0.0275)
    full = alone(measured(4, 500.0, 1 - 0.0275), 4, beside=0)
    own = 1 - 0.0275 - buffers
    assert predict(full).capacity == pytest.approx(500.0 * (1 - 0.0275) / own)
    assert cpu(full, 500.0)[0] == pytest.approx(own + 0.0275)


def test_weights_spare_the_slot_that_buffers_keep_busy() -> None:
    """Slot 0 also passes on what another operator sends: `a` gets more done in slot 1."""
    served: dict[str, Profile] = {
        "in": FAST,
        "a": ServiceRate(100.0, cpu=0.9),
        "other": ServiceRate(1e6, cpu=0.0),
    }
    of = topology("in>other", "in>a")
    plan = plan_of(of, served, {"in": [2], "a": [0, 1], "other": [0, 0, 0, 0]}, 10.0)
    hop = Hop(receive_buffer_us=1500.0)
    plan = on(Platform(between_nodes=hop, flush_ms=5.0), plan)
    shares = weights(plan.pipeline, plan.cluster, plan.placement)
    assert shares["a"][0] < 0.45
    predicted = predict(replace(plan, weights=shares))
    assert predicted.proportional_capacity is not None
    assert predicted.shuffle_capacity is not None
    assert predicted.proportional_capacity > 1.1 * predicted.shuffle_capacity
