"""What holds on every plan: flow conservation, Little's law, and what no queue can do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from slotwise.model import Plan
from slotwise.simulation import Options
from slotwise.simulation.kernels.measure import visited
from slotwise.simulation.observe import observed
from slotwise.simulation.run import run
from tests.simulation import strategies


@settings(max_examples=40, deadline=None)
@given(strategies.plans(), strategies.options())
def test_flow_is_conserved_and_littles_law_holds(plan: Plan, options: Options) -> None:
    done = run(plan, None, options, log_size=60_000)
    log = done.tally.log[: done.tally.logged[0]]
    world, tally = done.world, done.tally
    operator = world.threads["operator"][log[:, 0].astype(int)]
    counted = log[:, 2] >= tally.warm_up
    handled = np.bincount(operator[counted], minlength=len(world.operators))
    assert np.array_equal(visited(tally, world, "handled"), handled)
    # What is sent on a stream is what its target handles, and no source handles more than comes.
    sent = np.zeros(len(world.operators), np.int64)
    for stream in world.streams:
        width = int(stream["width"])
        senders = world.operators[stream["source"]]
        size = int(senders["last"] - senders["first"]) * width
        sent[stream["target"]] += tally.pairs[stream["pair"] : stream["pair"] + size].sum()
    inner = world.operators["source"] == 0
    assert np.array_equal(handled[inner], sent[inner])
    # Little: the integral of the queue over time is the sum of the waits, up to the end.
    clipped = np.minimum(log[:, 3:5], tally.end)
    waits = np.bincount(operator, clipped[:, 1] - clipped[:, 0], len(world.operators))
    series = observed(done).series
    assert series is not None
    for position, name in enumerate(series.queue):
        total = sum(series.queue[name]) * series.window_s
        assert total == pytest.approx(waits[position], rel=1e-9, abs=1e-9 * tally.end)


@settings(max_examples=20, deadline=None)
@given(strategies.plans(), strategies.options())
def test_queues_are_first_come_first_served(plan: Plan, options: Options) -> None:
    done = run(plan, None, options, log_size=60_000)
    log = done.tally.log[: done.tally.logged[0]]
    arrival, start, end = log[:, 3], log[:, 4], log[:, 5]
    assert np.all(log[:, 2] <= arrival)
    assert np.all(arrival <= start)
    assert np.all(start <= end)
    for thread in np.unique(log[:, 0]):
        mine = log[log[:, 0] == thread]
        mine = mine[np.argsort(mine[:, 1])]
        assert np.all(np.diff(mine[:, 3]) >= 0), "taken in the order they came"
        assert np.all(mine[1:, 4] >= mine[:-1, 5]), "one at a time"
