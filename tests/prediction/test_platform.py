"""The engine's own costs in predictions, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotwise.model import (
    FixedLoad,
    Hop,
    Measurement,
    ModelError,
    NetworkDelays,
    Plan,
    Platform,
    Profile,
    ProfileForms,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.prediction import predict
from tests.builders import topology
from tests.prediction.test_predict import FAST, plan_of

PLATFORM = Platform(
    slot_cpu=0.1,
    slot_memory_mb=358.4,
    in_slot=Hop(send_us=100.0, receive_us=200.0, delay_ms=1.0),
    in_node=Hop(send_us=1000.0, receive_us=2000.0, delay_ms=3.0),
    between_nodes=Hop(send_us=3000.0, receive_us=4000.0, delay_ms=5.0),
    source_us=500.0,
    sink_us=700.0,
    meter_us=10.0,
)
MEASURED = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", cores=1.0)


def on(platform: Platform, plan: Plan) -> Plan:
    return replace(plan, pipeline=replace(plan.pipeline, platform=platform))


def chain(profile: Profile, slot: int, rate: float = 10.0) -> Plan:
    """in > a > b: `a` has the profile; `b` is in the given slot (0 and 1 are one node)."""
    served = {"in": FAST, "a": profile, "b": FAST}
    return plan_of(topology("in>a", "a>b"), served, {"in": [0], "a": [0], "b": [slot]}, rate)


@pytest.mark.parametrize(("slot", "send_ms"), [(0, 0.1), (1, 1.0), (2, 3.0), (4, 3.0)])
def test_a_typed_profile_is_the_own_work_and_hops_and_meters_come_on_top(
    slot: int, send_ms: float
) -> None:
    typed = ServiceRate(100.0, cpu=0.5)
    predicted = predict(on(PLATFORM, chain(typed, slot)))
    service_ms = 10.0 + 0.2 + send_ms + 0.01
    assert predicted.operators[1].service_ms == pytest.approx(service_ms)
    assert predicted.capacity == pytest.approx(1000 / service_ms)
    assert predicted.operators[1].cpu == pytest.approx(10 * (0.005 + (service_ms - 10) / 1000))
    assert predicted.operators[1].service_scv == pytest.approx((10 / service_ms) ** 2)


def test_sources_and_sinks_with_a_fixed_load_take_time_and_cpu_for_each_tuple() -> None:
    predicted = predict(on(PLATFORM, chain(ServiceRate(1e4, cpu=0.1), 1)))
    source, _, sink = predicted.operators
    assert source.service_ms == pytest.approx(0.1 + 0.5 + 0.01)
    assert sink.service_ms == pytest.approx(2.0 + 0.01)  # `b` is no sink by kind
    assert source.cpu == pytest.approx(10 * 0.61e-3)
    assert predicted.capacity == pytest.approx(900 / 2.01)  # a tenth of the slot is idle load
    assert predicted.bottleneck == "b"


def test_a_fixed_load_stays_beside_what_its_tuples_take() -> None:
    served = {"in": FixedLoad(cpu=0.3, mem=0.2), "a": ServiceRate(100.0, cpu=0.0)}
    plan = plan_of(topology("in>a"), served, {"in": [0], "a": [1]}, 10.0)
    slot = predict(on(PLATFORM, plan)).slots[0]
    assert slot.cpu == pytest.approx(0.3 + 0.1 + 10 * (0.5 + 0.01 + 1.0) / 1000)
    assert slot.mem == pytest.approx(0.2 + 0.1)


def test_slots_in_use_take_cpu_and_memory_when_idle() -> None:
    idle = Platform(slot_cpu=0.05, slot_memory_mb=358.4, cores=0.25)
    plan = chain(ServiceRate(100.0, cpu=1.0, mem=0.5), 1)
    before, predicted = predict(plan), predict(on(idle, plan))
    assert [slot.cpu for slot in predicted.slots[:3]] == pytest.approx([0.1 + 0.2, 0.2, 0.0])
    assert [slot.mem for slot in predicted.slots[:3]] == pytest.approx([0.05 + 0.1, 0.1, 0.0])
    assert before.capacity == pytest.approx(100.0)
    assert predicted.capacity == pytest.approx(80.0)


WAITING = ThreadTable((ThreadRow(1, 10.0, 0.0, 0.0), ThreadRow(4, 40.0, 0.4, 0.0)))


def waiting(profile: Profile) -> Plan:
    """Four threads of `a` in slot 0, its source and what it feeds elsewhere."""
    served = {"in": FAST, "a": profile, "b": FAST}
    return plan_of(topology("in>a", "a>b"), served, {"in": [1], "a": [0] * 4, "b": [2]}, 20.0)


def test_threads_take_cpu_when_idle() -> None:
    """Each 0.02 of a core, which is 0.08 of a slot of a quarter."""
    idle = Platform(thread_cpu=0.02, cores=0.25)
    plan = waiting(ServiceRate(10.0, cpu=0.0))
    predicted = predict(on(idle, plan))
    assert [slot.cpu for slot in predicted.slots[:3]] == pytest.approx([0.32, 0.08, 0.08])
    full = predict(on(replace(idle, thread_cpu=0.0625), plan))
    assert full.capacity == pytest.approx(40.0)  # they only wait
    typed = waiting(ServiceRate(10.0, cpu=0.5))
    assert predict(on(idle, typed)).capacity == pytest.approx(40 * 0.68 / 2)


def test_an_experiment_has_measured_what_its_other_threads_take_when_idle() -> None:
    """0.4 of a slot with four threads at 40/s; three of them take 0.24 at any rate."""
    table = ProfileForms(table=WAITING, measurement=replace(MEASURED, cores=0.25))
    predicted = predict(on(Platform(thread_cpu=0.02, cores=0.25), waiting(table)))
    assert predicted.slots[0].cpu == pytest.approx(4 * 0.08 + (0.4 - 0.24) * 20 / 40)


def test_busy_threads_do_not_poll() -> None:
    """Four threads that are busy half of the time take 0.02 of a core each, and for the other half
    0.01 more.
    """
    polling = Platform(thread_cpu=0.03, polling_cpu=0.01, cores=0.25)
    predicted = predict(on(polling, waiting(ServiceRate(10.0, cpu=0.0))))
    assert [slot.cpu for slot in predicted.slots[:3]] == pytest.approx([0.4, 0.12, 0.12])


def test_polling_leaves_the_capacity_alone() -> None:
    """At their peak the threads look for no input: 0.02 of a core each leaves room for all."""
    polling = Platform(thread_cpu=0.0625 + 0.01, polling_cpu=0.01, cores=0.25)
    predicted = predict(on(polling, waiting(ServiceRate(10.0, cpu=0.0))))
    assert predicted.capacity == pytest.approx(40.0)


def test_an_experiment_has_measured_threads_that_do_not_poll() -> None:
    """0.4 of a slot with four busy threads at 40/s, above one that waits: 4 · 0.08 - 0.12 of that
    is theirs beside tuples. At the peak the slot takes what was measured, and that one's 0.12.
    """
    table = ProfileForms(table=WAITING, measurement=replace(MEASURED, cores=0.25))
    polling = Platform(thread_cpu=0.03, polling_cpu=0.01, cores=0.25)
    predicted = predict(on(polling, waiting(table)), 40.0)
    assert predicted.slots[0].cpu == pytest.approx(0.4 + 0.12)


def test_polling_is_a_part_of_what_threads_take() -> None:
    with pytest.raises(ModelError, match=r"polling_cpu 0\.02 is a part of thread_cpu"):
        Platform(thread_cpu=0.01, polling_cpu=0.02)


def test_cpu_counts_in_slots_and_time_in_cores() -> None:
    """A slot of a quarter of a core: 1 ms of a core is 4 ms of the slot, but 1 ms of a thread."""
    hop = Platform(in_node=Hop(send_us=1000.0), cores=0.25)
    predicted = predict(on(hop, chain(ServiceRate(100.0, cpu=0.4), 1)))
    assert predicted.operators[1].service_ms == pytest.approx(11.0)
    assert predicted.operators[1].cpu == pytest.approx(10 * (0.004 + 0.004))


def test_larger_records_cost_more_at_both_ends() -> None:
    hop = Platform(in_node=Hop(per_kb_us=1000.0), record_kb=4.0)
    predicted = predict(on(hop, chain(ServiceRate(100.0, cpu=0.4), 1)))
    assert [load.service_ms for load in predicted.operators] == pytest.approx([0.0, 12.0, 2.0])


def measured(*rows: tuple[int, float, float], source: str = "experiment") -> ProfileForms:
    table = ThreadTable(tuple(ThreadRow(n, rate, cpu, 0.1) for n, rate, cpu in rows))
    return ProfileForms(table, measurement=replace(MEASURED, source=source))  # type: ignore[arg-type]


@pytest.mark.parametrize(("slot", "more_ms"), [(0, -1.8 - 0.9), (1, -1.8), (2, -1.8 + 2.0)])
def test_of_a_measured_profile_only_the_difference_of_hops_counts(
    slot: int, more_ms: float
) -> None:
    """It was measured with 2 ms to receive and 1 ms to send; here its input comes in its slot. Of
    the CPU of that slot its source takes 1 %.
    """
    predicted = predict(on(PLATFORM, chain(measured((1, 100.0, 0.5)), slot)))
    assert predicted.operators[1].service_ms == pytest.approx(10 + more_ms, rel=0.01)
    assert predicted.operators[1].cpu == pytest.approx(10 * (0.005 + more_ms / 1000))


def test_where_it_was_measured_a_profile_holds_as_it_is() -> None:
    served = {"in": FAST, "a": measured((1, 100.0, 0.5)), "b": FAST}
    apart = plan_of(topology("in>a", "a>b"), served, {"in": [1], "a": [0], "b": [1]}, 10.0)
    predicted = predict(on(PLATFORM, apart))
    assert predicted.operators[1].capacity == pytest.approx(100.0)
    assert predicted.operators[1].cpu == pytest.approx(0.05)


def test_a_profile_from_a_run_is_the_own_work() -> None:
    plan = chain(measured((1, 100.0, 0.5), source="run"), 1)
    typed = chain(ThreadTable((ThreadRow(1, 100.0, 0.5, 0.1),)), 1)
    assert predict(on(PLATFORM, plan)) == predict(on(PLATFORM, typed))


def test_a_slot_that_was_full_lets_more_through_where_hops_are_cheaper() -> None:
    """In a quarter of a core, threads waited for CPU: what they save, they save in CPU."""
    quota = ProfileForms(
        ThreadTable((ThreadRow(1, 50.0, 1.0, 0.1),)),
        measurement=replace(MEASURED, cores=0.25),
    )
    hops = Platform(in_node=Hop(send_us=1000.0, receive_us=1000.0), cores=0.25)
    served = {"in": FAST, "a": quota, "b": FAST}
    together = plan_of(topology("in>a", "a>b"), served, {"in": [0], "a": [0], "b": [0]}, 10.0)
    # 5 ms of a core each, of which 2 ms for hops: 3 ms are left, at a quarter of a core.
    assert predict(on(hops, together)).capacity == pytest.approx(0.25 / 0.003)


def test_hops_never_cost_more_than_the_measured_tuple() -> None:
    """An operator that does nothing, measured at less than the platform's hops."""
    predicted = predict(on(PLATFORM, chain(measured((1, 1000.0, 0.9)), 0)))
    assert 0.1 < predicted.operators[1].service_ms < 1.0


def test_hops_between_nodes_stand_in_for_task_costs_transfers() -> None:
    costs = TaskCosts(cpu_points=1.0, transfer_points=0.1)
    far = chain(costs, 2)
    assert predict(far).operators[1].service_ms == pytest.approx(11.0)
    hops = Platform(between_nodes=Hop(send_us=500.0))
    assert predict(on(hops, far)).operators[1].service_ms == pytest.approx(10.5)
    only_meters = Platform(meter_us=100.0)
    assert predict(on(only_meters, far)).operators[1].service_ms == pytest.approx(11.1)


def test_a_hop_s_delay_comes_on_top_of_the_network_s_and_falls_with_the_rate() -> None:
    hop = Hop(delay_ms=3.0)
    buffered = Platform(in_slot=hop, in_node=hop, flush_ms=4.0, buffer_bytes=10_240, record_kb=1.0)
    plan = chain(ServiceRate(1e6, cpu=0.0), 1)
    network = NetworkDelays(slot_ms=0.5, node_ms=0.25)
    plan = replace(plan, pipeline=replace(plan.pipeline, network=network))
    slow = predict(on(buffered, plan), 10.0)
    assert slow.network_ms == pytest.approx(6.75)
    assert slow.operators[1].network_ms == pytest.approx(3.5)
    # 5,000 tuples/s fill 10 KB in 2 ms: the wait of 2 ms in the mean becomes 1 ms.
    fast = predict(on(buffered, plan), 5000.0)
    assert fast.network_ms == pytest.approx(4.75)
    assert fast.latency_p50_ms == pytest.approx(fast.latency_ms, rel=0.02)
