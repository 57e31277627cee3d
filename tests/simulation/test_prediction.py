"""What is predicted is what happens: latency with a queue per thread, and with one per operator.

Goals: the mean within 15 %, the 99th percentile within 20 %. `python -m benchmarks.prediction`
shows how far off random topologies are; here are the cases that once were off most.
"""

from __future__ import annotations

import pytest

import slotwise
from slotwise.model import Grouping, Observation, Operator, Plan, ServiceRate, Stream, Topology
from slotwise.prediction import predict
from slotwise.simulation import Routing, simulate
from tests.builders import topology
from tests.simulation.builders import plan as planned

KEYED = Grouping("fields", ("key",))


def simulated(plan: Plan, rate: float | None = None, tuples: int = 400_000) -> Observation:
    return simulate(plan, rate, tuples=tuples, seed=3)


def assert_foreseen(plan: Plan, rate: float | None = None) -> None:
    foreseen, seen = predict(plan, rate), simulated(plan, rate)
    assert seen.stable
    assert foreseen.latency_ms == pytest.approx(seen.latency_ms, rel=0.15)
    assert foreseen.latency_p50_ms == pytest.approx(seen.latency_p50_ms, rel=0.20)
    assert foreseen.latency_p99_ms == pytest.approx(seen.latency_p99_ms, rel=0.20)
    assert foreseen.sojourn_ms == pytest.approx(seen.sojourn_ms, rel=0.15)


@pytest.mark.parametrize(
    ("example", "rate"),
    [("chain", 1000.0), ("chain", 600.0), ("starter", None), ("word-count", 1500)],
)
def test_examples(example: str, rate: float | None) -> None:
    pair = ("lsa", "topology") if example == "chain" else ("mba", "sam")
    plan = slotwise.plan(example, allocator=pair[0], placer=pair[1])
    assert_foreseen(plan, rate)


@pytest.mark.parametrize("load", [0.4, 0.8])
def test_turns_of_several_senders(load: float) -> None:
    of = topology("in>a", "a>b", "b>c")
    served = {"a": 1.0, "b": 0.5, "c": 2.0}
    assert_foreseen(planned(of, served, {"a": 4, "b": 8, "c": 2}), 4 * load)


@pytest.mark.parametrize("load", [0.2, 0.4, 0.6, 0.8])
def test_bursts_in_turn_and_by_key(load: float) -> None:
    streams = (Stream("in", "a", 5.0), Stream("a", "b", 3.0, KEYED))
    of = Topology("bursts", (Operator("in", "source"), *map(Operator, "ab")), streams)
    assert_foreseen(planned(of, {"a": 5 / 2, "b": 15 / 6}, {"a": 2, "b": 6}), load)


@pytest.mark.parametrize("load", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("threads", [1, 3])
def test_loops(load: float, threads: int) -> None:
    of = topology("in>a", "a>b", "b>a:0.3!", "b>c:0.7")
    each = 1 / 0.7 / threads
    assert_foreseen(planned(of, {"a": each, "b": each}, {"a": threads, "b": threads}), load)


def test_the_loop_of_an_example_that_all_threads_are_notified_by() -> None:
    assert_foreseen(slotwise.plan("loop"), 280.0)


def test_two_ways_from_one_input_meet_again() -> None:
    of = topology("in>a:2", "a>b", "a>c", "b>d", "c>d", "d>e")
    served = {"a": 3.0, "b": 3.0, "c": 3.0, "d": 6.0, "e": 6.0}
    assert_foreseen(planned(of, served), 1.0)


def test_services_that_vary_little_or_much() -> None:
    of = topology("in>a", "a>b", "b>c")
    served = {
        name: ServiceRate(1.0, cpu=0.0, service_scv=scv)
        for name, scv in (("a", 0.0), ("b", 0.25), ("c", 3.0))
    }
    assert_foreseen(planned(of, served, {"a": 2, "b": 2, "c": 2}), 1.4)


def test_a_queue_per_operator_is_foreseen() -> None:
    plan = slotwise.plan("chain", allocator="lsa", placer="topology")
    assert plan.predicted is not None
    seen = simulate(plan, tuples=400_000, routing=Routing(queue="shared"), seed=3)
    assert seen.sojourn_ms == pytest.approx(plan.predicted.shared_queue_sojourn_ms, rel=0.05)
