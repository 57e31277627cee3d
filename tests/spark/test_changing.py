"""What a new plan asks of a running query, without Spark."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise.model import Grouping, Logic, SlotwiseError
from slotwise.spark import supervise as supervision
from slotwise.spark.changing import needs_restart
from slotwise.spark.cluster import pinning
from tests.clocks import SettableClock
from tests.spark.plans import plan, topology
from tests.spark.scripted import MeteredRun, ScriptedMeters, ScriptedRun

PLAIN = topology("s>a", "a>k")
SHUFFLED = topology("s>a", "a>k", groupings={"s>a": Grouping("shuffle")})
WEIGHTED = topology("s>a", "a>k", groupings={"s>a": Grouping("weighted")})
LOCAL = topology("s>a", "a>k", groupings={"s>a": Grouping("local-or-shuffle")})


def test_new_places_wait_for_the_next_batch() -> None:
    of = plan(PLAIN, 2)
    moved = replace(of, placement=replace(of.placement, slots=np.zeros(6, dtype=np.int64)))
    assert not needs_restart(of, moved)


def test_other_threads_of_an_aggregate_wait_for_the_next_batch() -> None:
    count = Logic(aggregate=(("by", "value"), ("n", "count(*)")))
    by_value = {"s>c": Grouping("fields", ("value",))}
    of = topology("s>c", "c>k", logic={"c": count}, groupings=by_value)
    assert not needs_restart(plan(of, {"c": 2}), plan(of, {"c": 5}))
    assert needs_restart(plan(of, {"c": 2}), plan(of, {"c": 2, "k": 2}))


@pytest.mark.parametrize(
    ("current", "new"),
    [
        (plan(PLAIN, {"a": 2}), plan(PLAIN, {"a": 3})),
        (
            plan(WEIGHTED, {"a": 2}, weights={"a": (0.5, 0.5)}),
            plan(WEIGHTED, {"a": 2}, weights={"a": (0.4, 0.6)}),
        ),
        (plan(LOCAL, 2), plan(LOCAL, 2)),
    ],
    ids=["threads", "weights", "local routes"],
)
def test_another_query_needs_a_restart(current: object, new: object) -> None:
    assert needs_restart(current, new)  # type: ignore[arg-type]


def test_weights_matter_only_where_tuples_are_routed_by_them() -> None:
    both = (0.5, 0.5), (0.4, 0.6)
    even, uneven = (plan(SHUFFLED, {"a": 2}, weights={"a": weights}) for weights in both)
    assert not needs_restart(even, uneven)
    even, uneven = (plan(PLAIN, {"a": 2}, weights={"a": weights}) for weights in both)
    assert needs_restart(even, uneven)
    assert not needs_restart(uneven, uneven)


def test_another_topology_is_refused() -> None:
    run = ScriptedRun(SettableClock(), plan(PLAIN))
    with pytest.raises(SlotwiseError, match="cannot change its topology: start another run"):
        run.apply(plan(topology("s>b", "b>k")))


def test_nothing_measured_yet() -> None:
    run = ScriptedRun(SettableClock())
    run.measures = False
    with pytest.raises(SlotwiseError, match="the run of 'test' has measured nothing yet"):
        run.observe(10)
    run.measures, run.median_ms = True, 5.0
    assert run.observe(10).latency_p50_ms == 5.0


TWO = topology("s>a", "s>b", "a>k", "b>k")


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(now_s=1000.0)


@pytest.fixture
def metered(monkeypatch: pytest.MonkeyPatch, clock: SettableClock) -> MeteredRun:
    """Threads s, a, b, k; partition 1 of level 1 is b's."""
    seen = ScriptedMeters(monkeypatch, clock)
    seen.rates = {(0, 0): 100, (1, 0): 100, (1, 1): 100, (2, 0): 200}
    return MeteredRun(clock, seen, plan(TWO))


def test_figures_of_two_plans_never_mix(metered: MeteredRun, clock: SettableClock) -> None:
    """After the restart, partition 1 of level 1 is the second thread of a."""
    metered.advance(20)
    started = {(0, 0): 100, (1, 0): 70, (1, 1): 30, (1, 2): 100, (2, 0): 200}
    clock.at(1025, lambda: setattr(metered.meters, "rates", started))
    change = metered.apply(plan(TWO, {"a": 2}))
    assert change.how == "restart"
    metered.advance(10)
    seen = metered.observe(last_s=60)
    assert seen.start_s is not None
    assert change.at_s - 1 <= seen.start_s < change.at_s + 1
    assert seen.end_s == pytest.approx(metered.now_s(), abs=1)
    assert [load.arrival_rate for load in seen.threads] == pytest.approx([100, 70, 30, 100, 200])
    assert [load.arrival_rate for load in seen.operators] == pytest.approx([100, 100, 100, 200])
    assert metered.observation() == metered.observe(last_s=60)


def test_a_restart_that_fails_leaves_nothing_of_the_old_plan(
    metered: MeteredRun, clock: SettableClock
) -> None:
    metered.advance(20)
    clock.at(1025, metered.fail)
    with pytest.raises(SlotwiseError, match="failed"):
        metered.apply(plan(TWO, {"a": 2}))
    metered.meters.rates = {(0, 0): 10, (1, 0): 7, (1, 1): 3, (1, 2): 10, (2, 0): 20}
    metered.restart()
    metered.advance(5)
    rates = [load.arrival_rate for load in metered.observe(last_s=60).threads]
    assert [rate / rates[0] for rate in rates] == pytest.approx([1, 0.7, 0.3, 1, 2])


def test_a_window_begins_when_new_places_are_in_effect(
    metered: MeteredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = metered.plan
    moved = replace(of, placement=replace(of.placement, slots=np.zeros(4, dtype=np.int64)))
    wanted = metered.outline.layout.slots(moved.placement)
    monkeypatch.setattr(pinning, "place", lambda *_: None)
    monkeypatch.setattr(pinning, "where", lambda *_: SimpleNamespace(levels=wanted))
    metered.advance(20)
    change = metered.apply(moved)
    assert change.how == "next batch"
    metered.advance(10)
    seen = metered.observe(last_s=60)
    assert seen.start_s is not None
    assert seen.start_s >= change.at_s - 1
    assert {load.slot for load in seen.threads} == {"n0/0"}


def test_a_window_goes_on_over_a_recovery(
    metered: MeteredRun, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is the same, and so are its threads."""
    monkeypatch.setattr(supervision, "slots", lambda _: ("executor",))
    clock.at(1010, metered.fail)
    metered.advance(20)
    assert "resumed from its checkpoint" in metered.events[0]
    seen = metered.observe(last_s=60)
    assert (seen.start_s, seen.end_s) == (0, 20)
