"""METIS's partition of the traffic graph."""

from __future__ import annotations

import numpy as np

from slotwise.model import Cluster, Node, Placement, ThreadTraffic, Traffic
from slotwise.placers.partition import LARGEST_SUM, Partition, _integers
from tests import builders


def test_two_communities_are_cut_apart() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 8, "o1": 8})
    even = [(i, j) for i in range(16) for j in range(16) if i < j and i % 2 == j % 2]
    ends = np.array([*even, (0, 1)], dtype=np.int64)
    rates = np.array([10.0] * len(even) + [1.0])
    traffic = Traffic(
        builders.traffic(chain, allocation).streams, ThreadTraffic(ends[:, 0], ends[:, 1], rates)
    )
    answer = Partition().place(chain, allocation, builders.cluster(2, slots=2), traffic)
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
    answer = Partition().place(chain, allocation, cluster, builders.traffic(chain, allocation))
    assert isinstance(answer, Placement)
    slow, fast = np.bincount(cluster.slot_node[answer.slots])
    assert abs(fast - 90) <= 9
    assert slow + fast == 120


def test_many_alike_threads_are_grouped_but_measured_ones_never() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 65, "o1": 64}, cpu=0.01)
    derived = builders.traffic(chain, allocation)
    cluster = builders.cluster(2)
    answer = Partition().place(chain, allocation, cluster, derived)
    assert isinstance(answer, Placement)
    # 129 threads over 2 · 16 vertices: groups of 4, the 65th by itself.
    assert answer.reasons == ("2 parts of a graph of 33 vertices",)
    node = answer.slots // 4
    assert all(len(set(node[i : i + 4].tolist())) == 1 for i in range(0, 64, 4))
    measured = Traffic(derived.streams, derived.between_threads(chain, allocation))
    answer = Partition().place(chain, allocation, cluster, measured)
    assert isinstance(answer, Placement)
    assert answer.reasons == ("2 parts of a graph of 129 vertices",)


def test_more_nodes_than_threads() -> None:
    chain = builders.chain(2)
    allocation = builders.allocation(chain, {"o0": 1, "o1": 2})
    traffic = builders.traffic(chain, allocation)
    answer = Partition().place(chain, allocation, builders.cluster(9), traffic)
    assert isinstance(answer, Placement)
    assert answer.slots.max() < 3 * 4


def test_weights_never_overflow() -> None:
    assert _integers(np.array([1e300, 1e300])).tolist() == [LARGEST_SUM // 2] * 2
    assert _integers(np.array([1e-300, 1.0])).tolist() == [1, LARGEST_SUM]
    assert _integers(np.zeros(2)).tolist() == [1, 1]
