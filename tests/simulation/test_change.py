"""Changes of plan in mid-run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise.model import ModelError, Plan
from slotwise.simulation import (
    Arrivals,
    Buffers,
    Network,
    Options,
    PlanChange,
    ServiceTimes,
    simulate,
)
from slotwise.simulation.kernels.arrivals import advance, clocks_at
from slotwise.simulation.kernels.change import Part
from slotwise.simulation.run import Run, part_of, run
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
    latency = found.series.sojourn_ms
    assert latency[18] > 2000
    assert latency[60] == pytest.approx(300.0)
    assert [thread.operator for thread in found.threads].count("b") == 3


def test_a_pause_stops_everything_and_loses_nothing() -> None:
    same = sized(2)
    found = simulate(
        same, changes=(PlanChange(10.0, same, pause_s=2.0),), duration_s=30.0, warm_up=0, **FIXED
    )
    throughput = found.series.handled_rate["c"]
    per_window = found.series.window_s
    assert sum(throughput[round(10.1 / per_window) : round(12 / per_window)]) == 0
    rates = {load.operator: load.arrival_rate for load in found.operators}
    assert rates["a"] == rates["b"] == rates["c"] == pytest.approx(5.0)
    # The first of those that stood still waited for all of the pause. The new turns may begin with
    # the thread that was last: its tuples wait for one more service of 250 ms.
    assert max(v for v in found.series.sojourn_ms if v is not None) == pytest.approx(2300, abs=310)


def test_fewer_threads_take_over_what_was_waiting() -> None:
    found = simulate(
        sized(4), changes=(PlanChange(10.0, sized(1), 0.5),), duration_s=20.0, warm_up=0.0, **FIXED
    )
    rates = {load.operator: load.arrival_rate for load in found.operators}
    assert rates["b"] == rates["c"] == pytest.approx(5.0)
    assert found.stable is False


def counted(done: Run, parts: list[Part]) -> list[NDArray[np.int64]]:
    """Per part of the run, how many tuples each thread has handled, by the log."""
    assert done.tally.logged[0] < len(done.tally.log), "the log is too small"
    log = done.tally.log[: done.tally.logged[0]]
    ends = [*(part.start_s for part in parts[1:]), np.inf]
    found = []
    for part, end_s in zip(parts, ends, strict=True):
        here = log[(log[:, 5] >= part.start_s) & (log[:, 5] < end_s)]
        found.append(np.bincount(here[:, 0].astype(int), minlength=len(part.world.threads)))
    return found


def inputs_due(part: Part, end_s: float) -> NDArray[np.int64]:
    """Per operator, the inputs that come due while the part lasts, by the sources' clocks."""
    world = part.world
    clocks = clocks_at(world.sources, world.threads["key"], part.start_s)
    due = np.zeros(len(world.operators), np.int64)
    for thread in range(len(clocks)):
        while clocks["next"][thread] < end_s:
            due[world.threads["operator"][thread]] += 1
            advance(world.sources, clocks, world.threads["key"][thread], thread)
    return due


def sent(part: Part, handled: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per operator, what the part's senders sent to it: selectivities are spread evenly."""
    world = part.world
    found = np.zeros(len(world.operators), np.int64)
    for stream in world.streams:
        senders = world.threads["operator"] == stream["source"]
        tuples = np.floor(handled[senders] * stream["selectivity"]).astype(np.int64)
        found[stream["target"]] += tuples.sum() * stream["copies"]
    return found


@settings(max_examples=50, deadline=None)
@given(
    strategies.plans(),
    st.sampled_from([Buffers(), Buffers(3), Buffers(2, "lose", 50.0), Buffers(2, "lose")]),
    st.integers(0, 5),
    st.booleans(),
    st.data(),
)
def test_no_tuple_is_lost_or_doubled_by_a_change(
    before: Plan, buffers: Buffers, seed: int, linked: bool, data: st.DataObject
) -> None:
    """Every input that came due, and every tuple sent, is handled exactly once, or counted lost."""
    end_s = 200 / before.rate
    after = data.draw(strategies.replanned(before))
    network = Network()
    if linked:
        network = strategies.linked(before, 0.8)
        buffers = replace(buffers, node_capacity=2)
        before, after = (
            data.draw(st.sampled_from([each, strategies.stepped(each)])) for each in (before, after)
        )
    changes = (PlanChange(0.4 * end_s, after, 0.05 * end_s), PlanChange(0.7 * end_s, before))
    options = Options(
        network=network,
        buffers=buffers,
        duration_s=end_s,
        seed=seed,
        changes=changes,
        warm_up=0.0,
        kernel="events",
    )
    done = run(before, None, options, log_size=200_000)
    assert done.stuck == 0
    starts = [(0.0, 0.0), *((change.at_s, change.pause_s) for change in changes)]
    parts = [
        part_of(plan, before.rate, options, number, *start)[0]
        for number, (plan, start) in enumerate(zip((before, after, before), starts, strict=True))
    ]
    handled = counted(done, parts)
    came = sum(sent(part, own) for part, own in zip(parts, handled, strict=True))
    for part, until_s in zip(parts, [*(part.start_s for part in parts[1:]), end_s], strict=True):
        came += inputs_due(part, until_s)
    found = sum(
        np.bincount(part.world.threads["operator"], own, len(came)).astype(np.int64)
        for part, own in zip(parts, handled, strict=True)
    )
    lost = done.tally.operators["lost"]
    assert (found + lost).tolist() == came.tolist()
    assert lost.sum() == 0 or (buffers.when_full == "lose" and buffers.resend_after_ms is None)


def test_changes_are_checked() -> None:
    here = sized(1)
    with pytest.raises(ModelError, match="must keep the topology"):
        simulate(here, changes=(PlanChange(1.0, plan(topology("a>b"), {})),))
    with pytest.raises(ModelError, match="the run ends after 10 s"):
        simulate(here, changes=(PlanChange(100.0, here),), duration_s=10.0)
    with pytest.raises(ModelError, match="before the last one is over"):
        simulate(here, changes=(PlanChange(5.0, here, 3.0), PlanChange(7.0, here)))
    with pytest.raises(ModelError, match="feed-forward kernel does not support plan changes"):
        simulate(here, changes=(PlanChange(5.0, here),), kernel="feed-forward", duration_s=9.0)
