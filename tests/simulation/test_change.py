"""Changes of plan in mid-run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import ModelError, Plan
from slotwise.simulation import (
    Arrivals,
    Buffers,
    Options,
    PlanChange,
    Routing,
    ServiceTimes,
    simulate,
)
from slotwise.simulation.run import run
from tests.builders import topology
from tests.simulation import strategies
from tests.simulation.builders import plan

SHAPE = topology("a>b", "b>c")
FIXED = {"arrivals": Arrivals("constant"), "service": ServiceTimes("deterministic")}


def sized(threads: int, rate: float = 5.0) -> Plan:
    return plan(SHAPE, {"b": 4.0, "c": 20.0}, {"b": threads}, rate=rate)


def test_more_threads_cure_an_overload() -> None:
    """DRS's re-balancing: latency grows until the change, and is back after the backlog."""
    found = simulate(
        sized(1),
        changes=(PlanChange(20.0, sized(3), pause_s=1.0),),
        duration_s=100.0,
        warm_up=0.0,
        **FIXED,
    )
    latency = found.series.latency_ms
    assert latency[18] > 2000
    assert latency[60] == pytest.approx(300.0)
    assert [thread.operator for thread in found.threads].count("b") == 3


def test_a_pause_stops_everything_and_loses_nothing() -> None:
    same = sized(2)
    found = simulate(
        same, changes=(PlanChange(10.0, same, pause_s=2.0),), duration_s=30.0, warm_up=0, **FIXED
    )
    throughput = found.series.throughput["c"]
    per_window = found.series.window_s
    assert sum(throughput[round(10.1 / per_window) : round(12 / per_window)]) == 0
    rates = {load.operator: load.arrival_rate for load in found.operators}
    assert rates["a"] == rates["b"] == rates["c"] == pytest.approx(5.0)
    # The first of those that stood still waited for all of the pause.
    assert max(v for v in found.series.latency_ms if v is not None) == pytest.approx(2300, abs=260)


def test_fewer_threads_take_over_what_was_waiting() -> None:
    found = simulate(
        sized(4), changes=(PlanChange(10.0, sized(1), 0.5),), duration_s=20.0, warm_up=0.0, **FIXED
    )
    rates = {load.operator: load.arrival_rate for load in found.operators}
    assert rates["b"] == rates["c"] == pytest.approx(5.0)
    assert found.stable is False


@settings(max_examples=20, deadline=None)
@given(
    strategies.plans(),
    st.sampled_from([Buffers(), Buffers(3), Buffers(2, "lose", 50.0)]),
    st.integers(0, 5),
)
def test_no_tuple_is_lost_or_doubled_by_a_change(before: Plan, buffers: Buffers, seed: int) -> None:
    threads = before.placement.slots
    after = replace(before, placement=replace(before.placement, slots=threads[::-1].copy()))
    end_s = 200 / before.rate
    changes = (PlanChange(0.4 * end_s, after, 0.05 * end_s), PlanChange(0.7 * end_s, before))
    options = Options(
        routing=Routing(selectivity="fixed"),
        buffers=buffers,
        duration_s=end_s,
        seed=seed,
        changes=changes,
        warm_up=0.0,
    )
    done = run(before, None, options, log_size=60_000)
    log = done.tally.log[: done.tally.logged[0]]
    assert done.stuck == 0
    names = done.plan.pipeline.topology
    handled = np.bincount(done.world.threads["operator"][log[:, 0].astype(int)], minlength=9)
    for position, operator in enumerate(names.operators):
        if operator.kind == "source":
            assert handled[position] > 0
        for stream in names.outputs[position]:
            target = names.edges[stream][1]
            if names.streams[stream].selectivity >= 1:
                assert handled[target] >= handled[position]


def test_changes_are_checked() -> None:
    here = sized(1)
    with pytest.raises(ModelError, match="another"):
        simulate(here, changes=(PlanChange(1.0, plan(topology("a>b"), {})),))
    with pytest.raises(ModelError, match="of a run of"):
        simulate(here, changes=(PlanChange(100.0, here),), duration_s=10.0)
    with pytest.raises(ModelError, match="before the last one is over"):
        simulate(here, changes=(PlanChange(5.0, here, 3.0), PlanChange(7.0, here)))
    with pytest.raises(ModelError, match="feed-forward kernel cannot"):
        simulate(here, changes=(PlanChange(5.0, here),), kernel="feed-forward", duration_s=9.0)
