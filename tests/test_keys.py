"""Keys are dealt out as the simulation deals them."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.keys import NUMBER, keys_of_threads
from slotwise.model import Grouping, Operator, Stream, Topology
from slotwise.simulation import Keys, simulate
from tests.simulation.builders import plan


@pytest.mark.parametrize("threads", [1, 2, 7, 40])
def test_every_key_has_one_thread(threads: int) -> None:
    keys = keys_of_threads(threads)
    assert (len(keys), keys.sum()) == (threads, NUMBER)
    # As many as a fair hash would give: within five standard deviations.
    assert np.abs(keys - NUMBER / threads).max() <= 5 * np.sqrt(NUMBER / threads)


def test_the_simulation_s_threads_get_as_many() -> None:
    assert Keys().number == NUMBER
    streams = (Stream("in", "count", grouping=Grouping("fields", ("word",))),)
    topology = Topology("keyed", (Operator("in", "source"), Operator("count")), streams)
    seen = simulate(plan(topology, {"count": 1.0}, {"count": 7}), 1.0, tuples=400_000)
    shares = np.array([load.arrival_rate for load in seen.threads if load.operator == "count"])
    assert shares / shares.sum() == pytest.approx(keys_of_threads(7) / NUMBER, rel=0.03)
