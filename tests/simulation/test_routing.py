"""Where tuples go, what they carry, and what the way costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slotwise.model import (
    CommunicationSchedule,
    Grouping,
    NetworkDelays,
    Observation,
    Operator,
    Plan,
    Stream,
    TaskCosts,
    Topology,
)
from slotwise.simulation import Arrivals, Keys, Network, Routing, ServiceTimes, simulate
from tests.builders import allocation, cluster, topology
from tests.simulation.builders import plan


def grouped(kind: str, senders: int = 2, receivers: int = 4, **more: object) -> Plan:
    fields = ("key",) if kind == "fields" else ()
    made = Topology(
        "t",
        (Operator("a", "source"), Operator("b")),
        (Stream("a", "b", 1.0, Grouping(kind, fields)),),
    )
    return plan(made, {}, {"a": senders, "b": receivers}, **more)


def shares(found: Observation) -> list[float]:
    rates = [thread.arrival_rate for thread in found.threads if thread.operator == "b"]
    return [rate / sum(rates) for rate in rates]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("shuffle", [0.25] * 4),
        ("direct", [0.25] * 4),
        ("global", [1, 0, 0, 0]),
        ("all", [0.25] * 4),
        ("weighted", [0.1, 0.2, 0.3, 0.4]),
        ("fields", [0.25] * 4),
    ],
)
def test_groupings_share_tuples_out(kind: str, expected: list[float]) -> None:
    given = grouped(kind, weights={"b": (1.0, 2.0, 3.0, 4.0)})
    found = simulate(given, 100.0, tuples=40_000, keys=Keys(number=100_000))
    close = 0.02 if kind in ("direct", "fields") else 1e-3
    assert shares(found) == pytest.approx(expected, abs=close)
    total = sum(t.arrival_rate for t in found.threads if t.operator == "b")
    assert total == pytest.approx(400 if kind == "all" else 100, rel=0.02)


def test_random_shuffle_is_poisson_where_round_robin_is_even() -> None:
    given = plan(topology("a>b"), {"b": 0.4}, {"b": 4})
    dealt = simulate(given, 1.0, tuples=200_000)
    drawn = simulate(given, 1.0, tuples=200_000, routing=Routing(shuffle="random"))
    assert drawn.sojourn_ms / 1000 == pytest.approx(1 / (0.4 - 0.25), rel=0.03)
    assert dealt.sojourn_ms < 0.9 * drawn.sojourn_ms


def test_local_or_shuffle_stays_in_the_slot_where_it_can() -> None:
    given = grouped("local-or-shuffle", 2, 4, cluster=cluster(3, 1), slots=[0, 1, 0, 0, 2, 2])
    found = simulate(given, 100.0, arrivals=Arrivals("constant"), tuples=10_000, warm_up=0.0)
    # The first source's tuples go to the two threads beside it, the second's to all four.
    assert shares(found) == pytest.approx([0.375, 0.375, 0.125, 0.125], abs=1e-3)
    assert found.inter_slot_traffic == pytest.approx(50, rel=0.01)


def test_skewed_keys_make_a_hot_thread_and_recorded_ones_too() -> None:
    given = grouped("fields")
    zipf = simulate(given, 100.0, keys=Keys("zipf", 1000, 1.5), tuples=20_000)
    assert max(shares(zipf)) > 0.4
    recorded = simulate(given, 100.0, keys=Keys("recorded", recorded=(0, 3, 1)), tuples=20_000)
    assert sorted(shares(recorded))[-1] >= 0.74
    assert sum(share > 0 for share in shares(recorded)) <= 2


def test_a_key_is_carried_on_or_replaced_by_the_thread_s_own() -> None:
    """Paper 2's reference workload: half the tuples of a thread go to one thread of the next."""
    fields = Grouping("fields", ("key",))
    made = Topology(
        "t",
        (Operator("a", "source"), Operator("b"), Operator("c")),
        (Stream("a", "b"), Stream("b", "c", 1.0, fields)),
    )
    given = plan(made, {}, {"b": 4, "c": 8})
    keys = Keys(number=100_000, forwarded=0.5)
    traffic = simulate(given, 100.0, keys=keys, tuples=40_000).thread_traffic
    assert traffic is not None
    for thread in range(1, 5):
        rates = traffic.rates[traffic.senders == thread]
        assert rates.max() / rates.sum() == pytest.approx(0.5 + 0.5 / 8, abs=0.03)


@pytest.mark.parametrize("selectivity", ["fixed", "random"])
def test_selectivity(selectivity: str) -> None:
    given = plan(topology("a>b:0.25", "a>c:2.5"), {})
    found = simulate(
        given, 100.0, routing=Routing(selectivity=selectivity), tuples=40_000, warm_up=0.0
    )
    rate = {load.operator: load.arrival_rate for load in found.operators}
    close = 1e-3 if selectivity == "fixed" else 0.02
    assert rate["b"] / rate["a"] == pytest.approx(0.25, rel=close)
    assert rate["c"] / rate["a"] == pytest.approx(2.5, rel=close)


def test_random_selectivities_that_add_up_to_one_send_each_tuple_one_way() -> None:
    given = plan(topology("a>b:0.3", "a>c:0.7"), {})
    found = simulate(given, 10.0, routing=Routing(selectivity="random"), tuples=10_000, warm_up=0.0)
    rate = {load.operator: load.arrival_rate for load in found.operators}
    assert rate["b"] + rate["c"] == pytest.approx(rate["a"], rel=1e-12)


def test_delays_by_distance() -> None:
    delays = NetworkDelays(1.0, 2.0, 4.0, 8.0)
    where = cluster(4, 2, racks=2)
    for slot, delay in ((0, 1.0), (1, 2.0), (2, 4.0), (6, 8.0)):
        given = plan(topology("a>b"), {}, cluster=where, slots=[0, slot], delays=delays)
        found = simulate(given, 10.0, tuples=100, warm_up=0.0)
        assert found.sojourn_ms == pytest.approx(delay)
        assert found.network_ms == pytest.approx(delay)
        assert found.operators[1].network_ms == pytest.approx(delay)
        assert (found.inter_node_traffic > 0) == (slot > 1)
        assert found.node_traffic is not None
        assert found.node_traffic.receivers.tolist() == [slot // 2]


def test_transfer_costs_take_thread_time_at_both_ends() -> None:
    made = topology("a>b")
    there = plan(made, {"b": 100.0}, cluster=cluster(2, 1))
    found = simulate(
        there,
        1.0,
        arrivals=Arrivals("constant"),
        service=ServiceTimes("deterministic"),
        network=Network(send_ms=3.0, receive_ms=5.0),
        tuples=100,
    )
    assert [load.service_ms for load in found.operators] == pytest.approx([3.0, 15.0])
    together = replace(there, placement=replace(there.placement, slots=np.array([0, 0])))
    local = simulate(
        together, 1.0, service=ServiceTimes("deterministic"), network=Network(send_ms=3.0)
    )
    assert [load.service_ms for load in local.operators] == pytest.approx([0.0, 10.0])


def test_the_profile_s_transfer_cost_counts() -> None:
    made = topology("a>b")
    costs = TaskCosts(cpu_points=1.0, transfer_points=0.5)
    given = plan(made, {"b": costs}, cluster=cluster(2, 1))
    entries = tuple(
        replace(entry, transfer_cpu=0.005 if entry.operator == "b" else 0.0)
        for entry in allocation(made, {"a": 1, "b": 1}).operators
    )
    given = replace(given, allocation=replace(given.allocation, operators=entries))
    found = simulate(given, 1.0, service=ServiceTimes("deterministic"), tuples=1000)
    per_tuple_ms = 1000 / costs.thread_rate
    assert found.operators[1].service_ms == pytest.approx(per_tuple_ms + 5.0)


def test_links_have_a_bandwidth() -> None:
    given = plan(topology("a>b"), {}, {"a": 2}, cluster=cluster(3, 1), slots=[0, 1, 2])
    network = Network(bandwidth_mb_per_s=1.0, tuple_bytes=10_000)
    found = simulate(given, 1.0, arrivals=Arrivals("constant"), network=network, tuples=100)
    assert found.network_ms == pytest.approx(20.0), "10 ms out, 10 ms in"
    # Two senders fill the receiver's link: 100 tuples/s is all it takes.
    crowded = simulate(given, 150.0, network=network, tuples=20_000)
    assert crowded.network_ms > 1000
    same_node = plan(topology("a>b"), {}, cluster=cluster(1, 2))
    assert simulate(same_node, 1.0, network=network, tuples=100).network_ms == 0


def test_stepwise_communication_waits_for_its_time_slot() -> None:
    """Two nodes, two steps: node 0 may send to node 1 in step 1 only; and never while stalled."""
    given = plan(topology("a>b"), {}, cluster=cluster(2, 1))
    schedule = CommunicationSchedule(np.array([[0, 1], [1, 0]]), stall_steps=1)
    given = replace(given, placement=replace(given.placement, schedule=schedule))
    network = Network(step_ms=100.0)
    found = simulate(given, 100.0, arrivals=Arrivals("uniform"), network=network, tuples=50_000)
    # Of a round of 300 ms the middle third is open: the mean wait is (200²/2)/300.
    assert found.network_ms == pytest.approx(200**2 / 2 / 300, rel=0.02)
    free = simulate(given, 100.0, network=replace(network, stepwise=False), tuples=1000)
    assert free.network_ms == 0
