"""METIS's partition of the traffic graph."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import slotwise
from slotwise.model import Cluster, Node, Placement, ThreadTraffic
from slotwise.placers.base import PlacementProblem
from slotwise.placers.partition import LARGEST_SEED, LARGEST_SUM, Partition, _integers
from tests import builders

CASES = Path(__file__).parents[1] / "cases"


def test_two_communities_are_cut_apart() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 8, "o1": 8})
    even = [(i, j) for i in range(16) for j in range(16) if i < j and i % 2 == j % 2]
    ends = np.array([*even, (0, 1)], dtype=np.int64)
    rates = np.array([10.0] * len(even) + [1.0])
    measured = ThreadTraffic(ends[:, 0], ends[:, 1], rates)
    cluster = builders.cluster(2, slots=2)
    answer = Partition().place(PlacementProblem(chain, allocation, cluster, measured=measured))
    assert isinstance(answer, Placement)
    node = answer.slots // 2
    assert len(set(node[::2].tolist())) == len(set(node[1::2].tolist())) == 1
    assert node[0] != node[1]
    assert np.bincount(answer.slots).tolist() == [4, 4, 4, 4]


def test_parts_weigh_their_nodes_share_of_the_cpu() -> None:
    chain = builders.chain(4)
    allocation = builders.allocation(chain, {f"o{i}": 30 for i in range(4)})
    nodes = (Node("slow", 2, 7.0), Node("fast", 2, 7.0, speed=3.0))
    cluster = Cluster(nodes, slot_memory_gb=3.5)
    answer = Partition().place(PlacementProblem(chain, allocation, cluster))
    assert isinstance(answer, Placement)
    slow, fast = np.bincount(cluster.slot_node[answer.slots])
    assert abs(fast - 90) <= 9
    assert slow + fast == 120


def test_many_alike_threads_are_grouped_but_measured_ones_never() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 65, "o1": 64}, cpu=0.01)
    derived = PlacementProblem(chain, allocation, builders.cluster(2))
    answer = Partition().place(derived)
    assert isinstance(answer, Placement)
    # 129 threads over 2 · 16 vertices: groups of 4, the 65th by itself.
    assert answer.reasons == ("2 parts of a graph of 33 vertices",)
    node = answer.slots // 4
    assert all(len(set(node[i : i + 4].tolist())) == 1 for i in range(0, 64, 4))
    answer = Partition().place(replace(derived, measured=derived.thread_traffic))
    assert isinstance(answer, Placement)
    assert answer.reasons == ("2 parts of a graph of 129 vertices",)


def test_more_nodes_than_threads() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": 2})
    answer = Partition().place(PlacementProblem(chain, allocation, builders.cluster(9)))
    assert isinstance(answer, Placement)
    assert answer.slots.max() < 3 * 4


def test_weights_never_overflow() -> None:
    assert _integers(np.array([1e300, 1e300])).tolist() == [LARGEST_SUM // 2] * 2
    assert _integers(np.array([1e-300, 1.0])).tolist() == [1, LARGEST_SUM]
    assert _integers(np.zeros(2)).tolist() == [1, 1]


def test_what_metis_prints_never_reaches_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    """The large node takes all three threads, so METIS is left with no vertex for the others."""
    print("before")
    plan = slotwise.plan(CASES / "metis-min.yaml", allocator="mba", placer="partition")
    assert set(plan.placement.slots.tolist()) == {0, 1, 2}, "METIS has nothing to complain about"
    print("after")
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "before\nafter\n"


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_a_seed_that_metis_cannot_count_to_is_refused(seed: int) -> None:
    Partition(LARGEST_SEED)
    with pytest.raises(ValueError, match=r"seed: .* expected an integer from 0 to 2147483647"):
        Partition(seed)
