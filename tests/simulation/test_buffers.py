"""Bounded buffers: back-pressure, loss, resending, and a loop that holds itself back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slotwise.model import Grouping, ModelError
from slotwise.queueing import erlang_b
from slotwise.simulation import Arrivals, Buffers, Options, Routing, ServiceTimes, simulate
from slotwise.simulation.run import run
from tests.builders import topology
from tests.simulation.builders import plan

TANDEM = plan(topology("a>b", "b>c"), {"b": 2.0, "c": 1.0}, rate=0.8)


def load(observation: object, operator: str) -> object:
    return next(load for load in observation.operators if load.operator == operator)


def test_a_large_buffer_is_as_good_as_none() -> None:
    unbounded = simulate(TANDEM, tuples=20_000, kernel="events")
    for full in ("block", "lose"):
        bounded = simulate(TANDEM, tuples=20_000, buffers=Buffers(10_000, full))
        assert bounded == unbounded


def test_back_pressure_keeps_buffers_within_their_capacity_and_loses_nothing() -> None:
    done = run(TANDEM, 0.9, Options(buffers=Buffers(2), tuples=20_000), log_size=100_000)
    log = done.tally.log[: done.tally.logged[0]]
    at_c = log[log[:, 0] == 2]
    at_c = at_c[np.argsort(at_c[:, 1])]
    # When a tuple arrives, those before it that have not begun are fewer than the capacity.
    begun = np.searchsorted(at_c[:, 4], at_c[:, 3], side="right")
    assert np.all(np.arange(len(at_c)) - begun < 2)
    assert len(at_c) == np.sum(log[:, 0] == 0)
    assert done.stuck == 0


def test_back_pressure_moves_the_wait_to_the_source_and_costs_throughput() -> None:
    free = simulate(TANDEM, tuples=100_000, kernel="events")
    tight = simulate(TANDEM, tuples=100_000, buffers=Buffers(1))
    assert load(tight, "c").waiting_ms < load(free, "c").waiting_ms
    assert tight.latency_ms > free.latency_ms
    # b with a place for one and blocking after service: 2 tandem servers sustain below 1/s.
    overloaded = simulate(TANDEM, 1.2, tuples=50_000, buffers=Buffers(1))
    assert overloaded.stable is False
    assert overloaded.bottleneck == "c"
    assert 0.7 < overloaded.capacity < 1.0


def test_loss_is_erlang_s_with_exponential_service() -> None:
    """M/M/1/2: one in service, one waiting; lost is the part that finds both taken."""
    single = plan(topology("a>b"), {"b": 1.0})
    found = simulate(single, 0.8, buffers=Buffers(1, "lose"), tuples=400_000)
    lost = load(found, "b").lost / (0.9 * 400_000)
    assert lost == pytest.approx(0.8**2 / (1 + 0.8 + 0.8**2), rel=0.02)
    assert found.stable, "no thread is asked for more than it can do"
    assert found.capacity == found.throughput == pytest.approx(0.8 * (1 - lost), rel=0.01)
    assert erlang_b(1, 0.8) > lost


def test_resent_tuples_all_arrive_in_the_end() -> None:
    single = plan(topology("a>b"), {"b": 1.0})
    buffers = Buffers(1, "lose", resend_after_ms=500.0)
    found = simulate(single, 0.6, buffers=buffers, tuples=50_000, warm_up=0.0)
    assert load(found, "b").lost == 0
    assert load(found, "b").resent > 1000
    rates = {each.operator: each.arrival_rate for each in found.operators}
    assert rates["a"] == rates["b"]
    assert load(found, "b").network_ms > 0, "the time until it was taken is time on the way"


def test_a_loop_of_full_buffers_is_a_deadlock_and_is_told() -> None:
    loop = plan(topology("a>b", "b>c", "c>b:0.9!"), {"b": 1.0, "c": 1.0}, rate=5.0)
    found = simulate(loop, buffers=Buffers(1), tuples=1000)
    assert found.stable is False
    assert any("never move again" in remark for remark in found.remarks)


def test_constant_arrivals_need_no_buffer() -> None:
    found = simulate(
        plan(topology("a>b"), {"b": 1.0}),
        1.0,
        arrivals=Arrivals("constant"),
        service=ServiceTimes("deterministic"),
        buffers=Buffers(1),
        tuples=1000,
    )
    assert load(found, "b").waiting_ms == 0
    assert found.stable


def test_a_longer_run_begins_as_the_shorter_one() -> None:
    """Copies of a tuple reach their threads at the same time, and hold each other back in the order
    of the threads, whatever else is to come.
    """
    shape = topology("a>b", "b>c", "x>c")
    streams = tuple(
        replace(stream, grouping=Grouping("all")) if stream.target == "b" else stream
        for stream in shape.streams
    )
    copied = plan(replace(shape, streams=streams), {"c": 30.0}, {"b": 5, "c": 2, "x": 2})
    logs = []
    for duration_s in (20.0, 40.0):
        options = Options(Arrivals("constant"), buffers=Buffers(1), duration_s=duration_s)
        done = run(copied, None, replace(options, warm_up=0.0), log_size=10_000)
        log = done.tally.log[: done.tally.logged[0]]
        logs.append(log[log[:, 5] < 20.0])
    assert np.array_equal(*logs)


def test_bounded_buffers_do_not_go_with_a_shared_queue() -> None:
    with pytest.raises(ModelError, match="shared queue"):
        simulate(TANDEM, buffers=Buffers(1), routing=Routing(queue="shared"))
