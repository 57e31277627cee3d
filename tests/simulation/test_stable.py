"""`stable` has one definition: no thread and no link is asked for more than it can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

import slotwise
from slotwise.model import Grouping
from slotwise.simulation import Arrivals, Network, ServiceTimes, simulate
from tests.builders import cluster, topology
from tests.simulation.builders import plan

SINGLE = plan(topology("a>b"), {"b": 1.0})


@pytest.mark.parametrize("warm_up", [0.0, 0.3, 0.9])
def test_linear_at_280_is_unstable_wherever_its_warm_up_ends(warm_up: float) -> None:
    """Its latency is 98 s and grows, but by little of itself after a late warm-up."""
    made = slotwise.plan("linear", rate=280, allocator="mba", placer="sam")
    seen = simulate(made, 280, arrivals=Arrivals("constant"), duration_s=3000.0, warm_up=warm_up)
    assert seen.stable is False
    assert seen.capacity == seen.throughput
    assert seen.throughput is not None
    assert seen.throughput < 280


@pytest.mark.parametrize("kernel", ["feed-forward", "events"])
@pytest.mark.parametrize(("rate", "stable"), [(0.9, True), (0.99, True), (1.05, False)])
def test_a_single_thread(rate: float, stable: bool, kernel: str) -> None:
    """By what it is asked for, and not by how the few tuples of a run fell out."""
    for seed in range(5):
        seen = simulate(SINGLE, rate, tuples=2_000, seed=seed, kernel=kernel)
        assert seen.stable is stable


@pytest.mark.parametrize(("rate", "stable"), [(1.3, True), (1.5, False)])
def test_one_overloaded_thread_of_two_is_enough(rate: float, stable: bool) -> None:
    """It gets 0.7 of the tuples, and does 1 a second."""
    of = topology("a>b")
    weighted = replace(of, streams=(replace(of.streams[0], grouping=Grouping("weighted")),))
    uneven = plan(weighted, {"b": 1.0}, {"b": 2}, weights={"b": (0.7, 0.3)})
    seen = simulate(uneven, rate, tuples=2_000)
    assert seen.stable is stable
    assert seen.threads[1].utilisation == pytest.approx(0.7 * rate)


@pytest.mark.parametrize(("rate", "stable"), [(80.0, True), (120.0, False)])
def test_a_saturated_link_counts(rate: float, stable: bool) -> None:
    """Tuples of 10 kB at 1 MB/s: a link carries 100 a second."""
    apart = plan(topology("a>b"), {"b": 1000.0}, slots=[0, 1], cluster=cluster(2, 1))
    seen = simulate(
        apart,
        rate,
        arrivals=Arrivals("constant"),
        service=ServiceTimes("deterministic"),
        network=Network(tuple_bytes=10_000, bandwidth_mb_per_s=1.0),
        tuples=5_000,
    )
    assert seen.stable is stable
    assert any("link" in remark for remark in seen.remarks) is not stable
