"""The simulated Deployment: the same run in steps, and what its windows count."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise.model import (
    Deployment,
    ModelError,
    NetworkDelays,
    Observation,
    Plan,
    Schedule,
    ServiceRate,
    SlotwiseError,
)
from slotwise.simulation import (
    Arrivals,
    Buffers,
    Network,
    Options,
    PlanChange,
    ServiceTimes,
    SimulatedDeployment,
    deployment,
    simulate,
)
from slotwise.simulation.run import run
from tests.builders import cluster, topology
from tests.simulation import strategies
from tests.simulation.builders import plan

SHAPE = topology("a>b", "b>c")
FIXED = Options(arrivals=Arrivals("constant"), service=ServiceTimes("deterministic"))


def sized(threads: int, rate: float = 5.0) -> Plan:
    """b handles 4 tuples/s in each of its threads; the others have time to spare."""
    return plan(SHAPE, {"b": 4.0, "c": 20.0}, {"b": threads}, rate=rate)


def moved(before: Plan) -> Plan:
    slots = before.placement.slots[::-1].copy()
    return replace(before, placement=replace(before.placement, slots=slots))


def load(seen: Observation, operator: str) -> dict[str, float]:
    return vars(next(each for each in seen.operators if each.operator == operator))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_steps_and_changes_count_what_one_run_counts(data: st.DataObject) -> None:
    """Every window of random steps against the log of `simulate` with the same changes; slots that
    are short of CPU are so at the nominal rate, as there.
    """
    with mock.patch.object(deployment, "_level", return_value=1.0):
        _check_steps(data)


def _check_steps(data: st.DataObject) -> None:
    first = data.draw(strategies.plans())
    buffers = data.draw(st.sampled_from([Buffers(), Buffers(2), Buffers(2, "lose", 30.0)]))
    drawn = data.draw(strategies.options())
    routing = drawn.routing if buffers.capacity is None else replace(drawn.routing, queue="own")
    network = drawn.network
    if data.draw(st.booleans()):
        network, buffers = strategies.linked(first, 0.8), replace(buffers, node_capacity=2)
        first = data.draw(st.sampled_from([first, strategies.stepped(first)]))
    options = Options(
        arrivals=drawn.arrivals,
        service=drawn.service,
        keys=drawn.keys,
        routing=routing,
        network=network,
        buffers=buffers,
        seed=drawn.seed,
    )
    second_s = 20 / first.rate
    at_work = SimulatedDeployment(
        first,
        options=options,
        move_pause_s=2 * second_s,
        restart_pause_s=3 * second_s,
        resolution_s=second_s,
    )
    changes, plans, windows = [], [first], []
    for _ in range(data.draw(st.integers(1, 6))):
        if windows and data.draw(st.booleans()):
            after = data.draw(st.one_of(strategies.replanned(first), st.just(moved(first))))
            at_s = at_work.now_s()
            change = at_work.apply(after)
            assert change.at_s == at_work.now_s() == at_s + change.pause_s
            changes.append(PlanChange(at_s, after, change.pause_s))
            plans.append(after)
            windows.append(at_work.observe(change.pause_s))
        steps = data.draw(st.integers(1, 6))
        at_work.advance(steps * second_s)
        windows.append(at_work.observe(steps * second_s))
    end_s = at_work.now_s()
    whole = replace(options, changes=tuple(changes), duration_s=end_s, warm_up=0, kernel="events")
    done = run(first, None, whole, log_size=300_000)
    assert done.tally.logged[0] < 300_000
    log = done.tally.log[: done.tally.logged[0]]
    operator = _operators(log, [0.0, *(change.at_s for change in changes)], plans)
    for before, after in pairwise(windows):
        assert before.end_s == pytest.approx(after.start_s)
    for seen in windows:
        _check_window(seen, log, operator)
    everything = at_work.observe(end_s)
    assert (everything.start_s, everything.end_s) == (0.0, end_s)
    _check_window(everything, log, operator)


def _operators(
    log: NDArray[np.float64], starts_s: list[float], plans: list[Plan]
) -> NDArray[np.int64]:
    """Which operator each visit was at: threads are numbered as in the plan of that time."""
    part = np.searchsorted(starts_s, log[:, 5], side="right") - 1
    of_thread = [each.placement.thread_operator for each in plans]
    return np.array(
        [of_thread[p][int(thread)] for p, thread in zip(part, log[:, 0], strict=True)], dtype=int
    )


def _check_window(seen: Observation, log: NDArray[np.float64], operator: NDArray[np.int64]) -> None:
    assert seen.start_s is not None
    assert seen.end_s is not None
    seconds = seen.end_s - seen.start_s
    ended = (log[:, 5] >= seen.start_s) & (log[:, 5] < seen.end_s)
    leaves = set(range(len(seen.operators))) - {
        position
        for position, each in enumerate(seen.operators)
        if any(stream.source == each.operator for stream in seen.streams)
    }
    at_sinks = log[ended & np.isin(operator, list(leaves))]
    if len(at_sinks):
        latency_ms = 1000 * float(np.mean(at_sinks[:, 5] - at_sinks[:, 2]))
        assert seen.latency_ms == pytest.approx(latency_ms)
    else:
        assert seen.latency_ms is None
    for position, each in enumerate(seen.operators):
        here = log[ended & (operator == position)]
        assert each.arrival_rate * seconds == pytest.approx(len(here), abs=1e-6)
        if len(here) == 0:
            assert each.waiting_ms is each.service_ms is None
            continue
        waiting_ms = 1000 * float(np.mean(here[:, 4] - here[:, 3]))
        service_ms = 1000 * float(np.mean(here[:, 5] - here[:, 4]))
        assert each.waiting_ms == pytest.approx(waiting_ms, abs=1e-6)
        assert each.service_ms == pytest.approx(service_ms, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(strategies.plans(), st.sampled_from([Buffers(), Buffers(2)]), st.integers(1, 9))
def test_queues_and_backlog_are_exact(of: Plan, buffers: Buffers, step: int) -> None:
    """Against the log, in which every tuple has the time it came and the time it was taken."""
    options = Options(buffers=buffers)
    step_s = step * 10 / of.rate
    at_work = SimulatedDeployment(of, options=options, resolution_s=step_s / 3)
    at_work.advance(step_s)
    at_work.advance(2 * step_s)
    whole = replace(options, duration_s=3 * step_s, warm_up=0.0, kernel="events")
    done = run(of, None, whole, log_size=300_000)
    log = done.tally.log[: done.tally.logged[0]]
    seen = at_work.observe(2 * step_s)
    start_s, end_s = step_s, 3 * step_s
    operator = of.placement.thread_operator[log[:, 0].astype(int)]
    overlap = np.clip(log[:, 4], start_s, end_s) - np.clip(log[:, 3], start_s, end_s)
    for position, each in enumerate(seen.operators):
        queue = float(overlap[operator == position].sum()) / (end_s - start_s)
        assert each.queue == pytest.approx(queue, abs=1e-6)
    sources = [o.kind == "source" for o in of.pipeline.topology.operators]
    due = np.array(sources)[operator] & (log[:, 3] < end_s) & (log[:, 4] >= end_s)
    assert seen.backlog == due.sum()


def test_links_are_observed_in_windows() -> None:
    """Five nodes send to a sixth, whose link in is asked for 1.2 times what it can do."""
    crowd = plan(
        topology("a>b"), {}, {"a": 5}, cluster=cluster(6, 1), slots=list(range(6)), rate=120.0
    )
    options = Options(
        network=Network(tuple_bytes=10_000, bandwidth_mb_per_s=1.0),
        buffers=Buffers(when_full="lose", resend_after_ms=20.0, node_capacity=3),
    )
    at_work = SimulatedDeployment(crowd, options=options)
    at_work.advance(20)
    first = at_work.observe(20)
    at_work.advance(20)
    second, both = at_work.observe(20), at_work.observe(40)
    assert both.links[5].resent == first.links[5].resent + second.links[5].resent > 1000
    assert both.links[5].most_held == 3
    assert 2 < both.links[5].held <= 3
    assert both.links[5].in_utilisation == pytest.approx(1.2, abs=0.02), "what it is asked for"
    assert not both.stable
    assert max(link.out_utilisation for link in both.links[:5]) > 0.3
    assert both.throughput == pytest.approx(100.0, rel=0.02)


def test_an_overload_is_seen_cured_and_worked_off() -> None:
    """A timeline, as a controller would make it."""
    at_work: Deployment = SimulatedDeployment(sized(1), options=FIXED)
    at_work.advance(20)
    seen = at_work.observe(10)
    assert seen.stable is False
    assert (seen.offered_rate, seen.throughput, seen.capacity) == (5.0, 4.0, 4.0)
    assert seen.bottleneck == "b"
    assert seen.latency_slope is not None
    assert seen.latency_slope > 100
    change = at_work.apply(sized(3))
    assert (change.at_s, change.how, change.pause_s) == (23.0, "restart", 3.0)
    assert at_work.plan == sized(3)
    in_pause = at_work.observe(3)
    assert (in_pause.throughput, in_pause.latency_ms, in_pause.sojourn_ms) == (0.0, None, None)
    assert load(in_pause, "b")["queue"] > 20
    at_work.advance(2)
    working_off = at_work.observe(1)
    assert working_off.throughput == pytest.approx(12.0)
    assert (working_off.stable, working_off.capacity) == (True, None)
    at_work.advance(60)
    seen = at_work.observe(30)
    assert seen.throughput == pytest.approx(5.0)
    assert seen.latency_ms == pytest.approx(300.0)
    assert (seen.start_s, seen.end_s) == (55.0, 85.0)


def test_moved_threads_pause_as_long_as_a_move() -> None:
    at_work = SimulatedDeployment(sized(2), options=FIXED, move_pause_s=0.25)
    at_work.advance(1)
    change = at_work.apply(moved(sized(2)))
    assert (change.at_s, change.how, change.pause_s) == (1.25, "at once", 0.25)
    assert at_work.plan == moved(sized(2))


def test_in_steady_state_a_window_agrees_with_a_run() -> None:
    of = plan(SHAPE, {"b": 4.0, "c": 20.0}, {"b": 2}, rate=5.0, cluster=cluster(2, 2))
    at_work = SimulatedDeployment(of, options=FIXED)
    at_work.advance(60)
    seen, whole = at_work.observe(40), simulate(of, arrivals=FIXED.arrivals, service=FIXED.service)
    for field in ("capacity", "stable", "bottleneck"):
        assert getattr(seen, field) == getattr(whole, field), field
    for field in ("throughput", "latency_ms", "sojourn_ms", "network_ms"):
        assert getattr(seen, field) == pytest.approx(getattr(whole, field), rel=1e-3), field
    assert seen.inter_node_traffic == pytest.approx(whole.inter_node_traffic, rel=1e-2)
    for found, expected in zip(seen.threads, whole.threads, strict=True):
        assert found.utilisation == pytest.approx(expected.utilisation, rel=1e-2)
    assert seen.thread_traffic is not None
    assert whole.thread_traffic is not None
    assert seen.thread_traffic.rates == pytest.approx(whole.thread_traffic.rates, rel=0.03)
    assert [slot.name for slot in seen.slots] == [slot.name for slot in whole.slots]
    assert seen.cost_per_hour == whole.cost_per_hour


def test_times_on_the_way_are_per_arrival_also_where_a_queue_grows() -> None:
    delays = NetworkDelays(7.0, 7.0, 7.0, 7.0)
    of = plan(SHAPE, {"b": 4.0, "c": 20.0}, rate=5.0, delays=delays)
    at_work = SimulatedDeployment(of, options=FIXED)
    at_work.advance(30)
    seen = at_work.observe(10)
    assert load(seen, "b")["arrival_rate"] == pytest.approx(4.0)
    assert load(seen, "b")["network_ms"] == pytest.approx(7.0)
    assert seen.network_ms == pytest.approx(14.0)


def test_a_schedule_changes_what_is_offered() -> None:
    schedule = Schedule.step(at_s=10, factor=2)
    at_work = SimulatedDeployment(
        sized(4), options=replace(FIXED, arrivals=Arrivals("constant", schedule))
    )
    at_work.advance(20)
    assert at_work.observe(10).offered_rate == pytest.approx(10.0)
    assert at_work.observe(20).offered_rate == pytest.approx(7.5)
    assert at_work.observe(20).throughput == pytest.approx(7.5, rel=0.03)


def test_figures_per_thread_begin_with_the_last_change() -> None:
    at_work = SimulatedDeployment(sized(2), options=FIXED, restart_pause_s=1.0)
    at_work.advance(9)
    at_work.apply(sized(4))
    at_work.advance(10)
    seen = at_work.observe(20)
    assert (seen.start_s, seen.end_s) == (0.0, 20.0)
    assert load(seen, "b")["arrival_rate"] * 20 == pytest.approx(99, abs=1)
    of_b = [thread for thread in seen.threads if thread.operator == "b"]
    assert len(of_b) == 4
    # From second 9 on 54 tuples were handled, those of the pause included.
    assert sum(thread.arrival_rate for thread in of_b) == pytest.approx(54 / 11, rel=0.03)
    assert seen.thread_traffic is not None
    assert seen.thread_traffic.senders.max() == 4


def test_a_window_begins_at_the_cut_before() -> None:
    at_work = SimulatedDeployment(sized(2), options=FIXED, resolution_s=1.0)
    at_work.advance(7.3)
    assert at_work.observe(2).start_s == pytest.approx(5.3)
    assert at_work.observe(2.5).start_s == pytest.approx(4.3)
    at_work.advance(0.4)
    assert at_work.observe(0.4).start_s == pytest.approx(7.3)
    assert at_work.observe(1.4).start_s == pytest.approx(6.3)
    assert at_work.observe(99).start_s == 0.0


def test_hours_take_no_more_memory_than_minutes() -> None:
    at_work = SimulatedDeployment(sized(2), kept_s=60.0)
    at_work.advance(60)
    kept, rows = len(at_work._stretches), len(at_work._events.state.tuples)
    for _ in range(60):
        at_work.advance(55)
    at_work.advance(3600)
    assert at_work.now_s() == 60 + 60 * 55 + 3600
    assert kept == len(at_work._stretches) == 120
    assert len(at_work._events.state.tuples) == rows
    assert at_work.observe(60).throughput == pytest.approx(5.0, rel=0.3)
    with pytest.raises(SlotwiseError, match="cannot observe the last 61 s: only 60 s are kept"):
        at_work.observe(61)


def test_what_comes_due_faster_than_a_source_takes_it_in_is_the_backlog() -> None:
    slow_source = plan(SHAPE, {"a": 4.0}, rate=5.0)
    at_work = SimulatedDeployment(slow_source, options=FIXED)
    at_work.advance(20.1)
    assert at_work.observe(1).backlog == 101 - 80 - 1  # due, handled, at work
    held_back = SimulatedDeployment(sized(1), options=replace(FIXED, buffers=Buffers(2)))
    held_back.advance(20.1)
    # 80 were handled by b, one is at work, two are in its buffer, and the source holds one.
    assert held_back.observe(1).backlog == 101 - 80 - 1 - 2 - 1


def test_figures_of_places_can_be_left_out() -> None:
    deployment = SimulatedDeployment(sized(2))
    deployment.advance(60.0)
    whole, short = deployment.observe(60.0), deployment.observe(60.0, places=False)
    assert whole.threads
    assert short == replace(
        whole,
        threads=(),
        slots=(),
        nodes=(),
        thread_traffic=None,
        slot_traffic=None,
        node_traffic=None,
        inter_slot_traffic=None,
        inter_node_traffic=None,
    )


def test_nothing_is_observed_before_the_first_step() -> None:
    with pytest.raises(SlotwiseError, match="nothing was observed yet: advance the deployment"):
        SimulatedDeployment(sized(1)).observe(1)


def test_too_many_tuples_under_way_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "MOST_UNDER_WAY", 1000)
    at_work = SimulatedDeployment(sized(1, rate=500.0))
    with pytest.raises(SlotwiseError, match="the plan cannot keep up with the input rate"):
        at_work.advance(60)


def test_what_makes_no_sense_is_an_error() -> None:
    at_work = SimulatedDeployment(sized(1))
    for seconds in (0, -1, math.nan, math.inf):
        with pytest.raises(ModelError, match="for seconds: expected seconds > 0"):
            at_work.advance(seconds)
        with pytest.raises(ModelError, match="for last_s: expected seconds > 0"):
            at_work.observe(seconds)
    with pytest.raises(ModelError, match="must keep the topology"):
        at_work.apply(plan(topology("a>b"), {}))
    with pytest.raises(
        ModelError, match="option duration_s applies only to runs of a fixed length"
    ):
        SimulatedDeployment(sized(1), options=Options(duration_s=5.0))
    with pytest.raises(ModelError, match="option changes applies only to runs of a fixed length"):
        SimulatedDeployment(sized(1), options=Options(changes=(PlanChange(1.0, sized(2)),)))
    with pytest.raises(ModelError, match="invalid value '0' for restart_pause_s"):
        SimulatedDeployment(sized(1), restart_pause_s=0)
    with pytest.raises(ModelError, match="has no such operator"):
        SimulatedDeployment(sized(1), options=Options(service_of={"x": ServiceTimes()}))


def test_operators_cost_what_the_first_plan_says_whatever_a_later_one_believes() -> None:
    first = sized(2)
    slower = plan(SHAPE, {"b": 1.0, "c": 20.0}, {"b": 3}, rate=5.0)
    at_work = SimulatedDeployment(first, options=FIXED)
    at_work.advance(10.0)
    at_work.apply(slower)
    at_work.advance(10.0)
    assert load(at_work.observe(10.0), "b")["service_ms"] == pytest.approx(250.0)
    assert at_work.plan is slower


def test_a_slot_short_of_cpu_is_slow_by_the_rate_that_is_offered_now() -> None:
    """Two threads that each fill a core share a slot: it has enough for 3 tuples/s of each, not for
    4; and the nominal rate is of no importance.
    """
    busy = {name: ServiceRate(6.0) for name in "bc"}
    shared = plan(SHAPE, busy, rate=3.0, cluster=cluster(1, 2), slots=[0, 1, 1])
    slow = Options(arrivals=Arrivals("constant", Schedule.step(10, 4 / 3)))
    fast = Options(arrivals=Arrivals("constant", Schedule(((0, 0.5), (10, 0.5), (10, 2 / 3)))))
    for rate, options in ((3.0, slow), (6.0, fast)):
        at_work = SimulatedDeployment(shared, rate, options)
        at_work.advance(10)
        before = at_work.observe(10)
        at_work.advance(10)
        after = at_work.observe(10)
        assert (before.offered_rate, after.offered_rate) == pytest.approx((3.0, 4.0))
        assert (before.busiest, after.busiest) == pytest.approx((0.5, 4 / 3), rel=0.02)
        assert (len(before.remarks), len(after.remarks)) == (0, 2)
