"""Workers over nodes, and threads over the slots of their node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import Cluster, Node
from slotwise.placers._kernels import fill_least_loaded
from slotwise.placers._workers import shared_evenly, worker_slots
from tests import builders

UNEVEN = Cluster((Node("a", 1, 3.5), Node("b", 3, 10.5)), slot_memory_gb=3.5)


def least_loaded(groups: list[int], loads: list[float], first: list[int]) -> list[int]:
    """What the kernel does, said shortly."""
    load, count, chosen = [0.0] * first[-1], [0] * first[-1], []
    for group, item_load in zip(groups, loads, strict=True):
        bins = range(first[group], first[group + 1])
        best = min(bins, key=lambda b: (load[b], count[b], b))
        load[best] += item_load
        count[best] += 1
        chosen.append(best)
    return chosen


@settings(deadline=None)  # the first run compiles
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3).map(lambda n: n / 4)), max_size=30))
def test_the_kernel_does_what_the_reference_does(items: list[tuple[int, float]]) -> None:
    groups, loads, first = [g for g, _ in items], [n for _, n in items], [0, 1, 4, 6]
    found = fill_least_loaded(np.array(groups, np.int64), np.array(loads, float), np.array(first))
    assert found.tolist() == least_loaded(groups, loads, first)


def test_workers_go_round_the_nodes_and_leave_full_ones_out() -> None:
    slots = worker_slots("test", replace(builders.chain(2), workers=3), UNEVEN)
    assert np.array_equal(slots, [0, 1, 2])
    assert np.array_equal(worker_slots("test", builders.chain(2), UNEVEN), [0, 1, 2, 3])


def test_only_the_given_slots_of_a_node_are_shared() -> None:
    found = shared_evenly(np.array([1, 1, 1, 0]), np.full(4, 0.5), np.array([3, 0, 2]), UNEVEN)
    assert found.tolist() == [2, 3, 2, 0]
