"""Two kernels, one answer: on random plans, tuple by tuple, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from slotwise.model import CommunicationSchedule, NetworkDelays, Plan
from slotwise.simulation import Arrivals, Network, Options, ServiceTimes, simulate
from slotwise.simulation.kernels import feed_forward, inboxes
from slotwise.simulation.kernels.measure import visited
from slotwise.simulation.run import Run, run
from tests.builders import cluster, topology
from tests.simulation import builders, strategies


def visits(done: Run) -> np.ndarray:
    """All visits, by thread and in the order it handled them."""
    log = done.tally.log[: done.tally.logged[0]]
    assert len(log) < len(done.tally.log)
    return log[np.lexsort((log[:, 1], log[:, 0]))]


def both(plan: Plan, options: Options) -> tuple[Run, Run]:
    return tuple(
        run(plan, None, replace(options, kernel=kernel), log_size=60_000)
        for kernel in ("feed-forward", "events")
    )


@settings(max_examples=60, deadline=None)
@given(strategies.plans(), strategies.options())
def test_the_kernels_agree_tuple_by_tuple(plan: Plan, options: Options) -> None:
    fast, slow = both(plan, options)
    assert np.array_equal(visits(fast), visits(slow))
    assert np.array_equal(fast.tally.pairs, slow.tally.pairs)
    assert np.array_equal(fast.tally.sketch, slow.tally.sketch)
    for name in ("completed", "covering"):
        assert np.array_equal(fast.tally.cells[name], slow.tally.cells[name])
    for name in ("handled", "waiting", "busy"):
        expected = visited(slow.tally, slow.world, name)
        assert visited(fast.tally, fast.world, name) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(strategies.plans(), strategies.options())
def test_the_size_of_chunks_changes_nothing(plan: Plan, options: Options) -> None:
    whole = visits(run(plan, None, options, log_size=60_000))
    usual = feed_forward.CHUNK_VISITS
    feed_forward.CHUNK_VISITS = 5
    try:
        pieces = visits(run(plan, None, options, log_size=60_000))
    finally:
        feed_forward.CHUNK_VISITS = usual
    assert np.array_equal(whole, pieces)


def test_ties_in_time_are_taken_by_sender_and_number() -> None:
    plan = builders.plan(
        topology("a>c", "b>c", "a>b2", "b2>c", "c>d"), {"c": 100.0}, {"a": 3, "b": 2, "b2": 2}
    )
    options = Options(Arrivals("constant"), ServiceTimes("deterministic"), tuples=2000)
    fast, slow = both(plan, options)
    assert np.array_equal(visits(fast), visits(slow))
    times = visits(fast)[:, 3]
    assert len(np.unique(times)) < len(times) / 2, "the test is about ties"


def test_the_kernels_agree_on_stepwise_communication() -> None:
    nodes = 3
    square = np.array([[(step + node) % nodes for node in range(nodes)] for step in range(nodes)])
    plan = builders.plan(
        topology("a>b", "b>c", "a>c"),
        {"b": 500.0, "c": 900.0},
        {"a": 3, "b": 3, "c": 3},
        rate=300.0,
        cluster=cluster(nodes, 3),
        delays=NetworkDelays(),
    )
    schedule = CommunicationSchedule(square, stall_steps=2, stages=2)
    plan = replace(plan, placement=replace(plan.placement, schedule=schedule))
    fast, slow = both(plan, Options(network=Network(step_ms=4.0), tuples=3000))
    assert np.array_equal(visits(fast), visits(slow))


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    plan = builders.plan(topology("a>b", "b>c:0.3"), {"b": 2.0, "c": 1.0}, {"b": 2}, rate=3.0)
    for kernel in ("feed-forward", "events"):
        first = simulate(plan, tuples=5000, seed=7, kernel=kernel)
        assert simulate(plan, tuples=5000, seed=7, kernel=kernel) == first
        assert simulate(plan, tuples=5000, seed=8, kernel=kernel) != first


def test_a_small_room_grows_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = builders.plan(topology("a>b:3", "b>c:2"), {"c": 50.0}, rate=5.0)
    options = Options(tuples=4000)
    roomy = visits(run(plan, None, options, log_size=60_000))
    monkeypatch.setattr(inboxes, "rooms_for", lambda world, expected: np.ones(3, np.int64))
    assert np.array_equal(visits(run(plan, None, options, log_size=60_000)), roomy)
