"""Independent parts: their order, and the nodes that each may use, against plain references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise import registry
from slotwise.model import (
    Allocation,
    Choice,
    Cluster,
    Node,
    Placement,
    Topology,
)
from slotwise.placers._parts import Parts
from slotwise.placers.base import PlacementProblem
from slotwise.testing import strategies
from tests import builders

PART_BY_PART = ["r-storm", "sam", "p-deployer"]


def combined(topologies: list[Topology]) -> Topology:
    """Topologies side by side, as one with a part for each."""
    return Topology(
        "combined",
        tuple(
            replace(operator, name=f"{number}-{operator.name}")
            for number, topology in enumerate(topologies)
            for operator in topology.operators
        ),
        tuple(
            replace(stream, source=f"{number}-{stream.source}", target=f"{number}-{stream.target}")
            for number, topology in enumerate(topologies)
            for stream in topology.streams
        ),
    )


@st.composite
def parted_cases(draw: st.DrawFn) -> PlacementProblem:
    """Up to four random topologies side by side, and a cluster that may be too small."""
    topology = combined(draw(st.lists(strategies.topologies(4), min_size=2, max_size=4)))
    allocation = draw(strategies.allocations(topology))
    return PlacementProblem(topology, allocation, draw(strategies.clusters()))


def plain_parts(topology: Topology, allocation: Allocation) -> list[set[int]]:
    """The operators of each part, in the order in which parts are placed."""
    parts = [{operator} for operator in range(len(topology.operators))]
    for edge in topology.edges:
        joined = [part for part in parts if part & set(edge)]
        parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return sorted(sorted(parts, key=min), key=lambda part: -sum(charged(part, allocation)))


def charged(part: set[int], allocation: Allocation) -> tuple[float, float]:
    entries = [allocation.operators[operator] for operator in sorted(part)]
    return sum(entry.cpu for entry in entries), sum(entry.mem for entry in entries)


def plain_steps(
    part: set[int], case: PlacementProblem, cpu_left: Sequence[float], mem_left: Sequence[float]
) -> list[list[int]]:
    """The nodes that a part may use, step by step."""
    nodes = list(range(len(case.cluster.nodes)))
    if len(part) == len(case.topology.operators):
        return [nodes]
    cpu, mem = charged(part, case.allocation)

    def left(place: list[int]) -> tuple[float, float]:
        return sum(cpu_left[node] for node in place), sum(mem_left[node] for node in place)

    def tightest(places: list[list[int]]) -> list[int]:
        holding = [p for p in places if left(p)[0] >= cpu - 1e-9 and left(p)[1] >= mem - 1e-9]
        return min(holding, key=lambda place: sum(left(place)), default=[])

    rack_of = case.cluster.node_rack.tolist()
    racks = [[node for node in nodes if rack_of[node] == r] for r in range(max(rack_of) + 1)]
    node = tightest([[n] for n in nodes])
    home = racks[rack_of[node[0]]] if node else tightest(racks)
    others = sorted((rack for rack in racks if rack != home), key=lambda rack: -sum(left(rack)))
    steps = [node, [n for n in home if n not in node], *others]
    return [step for step in steps if step]


def node_sums(values: NDArray[np.float64], cluster: Cluster) -> list[float]:
    return [float(values[cluster.slot_node == n].sum()) for n in range(len(cluster.nodes))]


@settings(max_examples=100, deadline=None)
@given(case=parted_cases(), data=st.data())
def test_steps_as_the_plain_reading(case: PlacementProblem, data: st.DataObject) -> None:
    parts = Parts.of(case.topology, case.allocation)
    expected = plain_parts(case.topology, case.allocation)
    assert [set(np.flatnonzero(parts.turn == t)) for t in range(len(parts))] == expected
    shares = [data.draw(st.integers(0, 4)) / 4 for _ in case.cluster.nodes]
    cpu, mem = (
        np.array(node_sums(of, case.cluster)) * shares
        for of in (case.cluster.slot_cpu, case.cluster.slot_memory)
    )
    for turn, part in enumerate(expected):
        nodes, ends = parts.steps(turn, cpu, mem, case.cluster.node_rack)
        steps = [step.tolist() for step in np.split(nodes, ends[:-1])]
        assert steps == plain_steps(part, case, cpu.tolist(), mem.tolist())


def test_a_topology_of_one_part_may_use_all_nodes_at_once() -> None:
    topology = builders.topology("a>b", "c>b")
    assert topology.parts == ((0, 1, 2),)
    parts = Parts.of(topology, builders.allocation(topology, dict.fromkeys("abc", 1)))
    nodes, ends = parts.steps(0, np.ones(4), np.ones(4), np.array([0, 1, 0, 1]))
    assert (nodes.tolist(), ends.tolist()) == ([0, 1, 2, 3], [4])
    assert parts.reasons() == ()


def chains(parts: int, threads: int, cluster: Cluster, cpu: float = 0.25) -> PlacementProblem:
    """Chains of three operators each, side by side."""
    topology = combined([builders.chain(3)] * parts)
    each = dict.fromkeys(topology.index, threads)
    allocation = builders.allocation(topology, each, cpu=cpu, mem=cpu)
    return PlacementProblem(topology, allocation, cluster)


def places(name: str, problem: PlacementProblem) -> list[set[int]]:
    """Per operator, the nodes that it is on."""
    answer = registry.placer(Choice(name)).place(problem)
    assert isinstance(answer, Placement), answer
    node = problem.cluster.slot_node[answer.slots]
    return [set(node[answer.thread_operator == o].tolist()) for o in range(len(answer.threads))]


@pytest.mark.parametrize("name", PART_BY_PART)
def test_a_part_that_fits_on_a_node_is_on_one(name: str) -> None:
    # Each needs 3 of a node's 4 slots: thread by thread, the best fit would fill the fourth.
    found = places(name, chains(3, 4, builders.cluster(4, slots=4)))
    assert [set().union(*found[i : i + 3]) for i in (0, 3, 6)] == [{0}, {1}, {2}]


@pytest.mark.parametrize("name", PART_BY_PART)
def test_a_part_that_fits_in_a_rack_is_in_one(name: str) -> None:
    # Each needs 6 of a rack's 8 slots.
    cluster = builders.cluster(8, slots=4, racks=4)
    found = places(name, chains(3, 8, cluster))
    racks = [set(cluster.node_rack[list(set().union(*found[i : i + 3]))]) for i in (0, 3, 6)]
    assert racks == [{0}, {1}, {2}]


@pytest.mark.parametrize("name", PART_BY_PART)
def test_a_part_too_large_for_a_rack_takes_the_emptiest_ones(name: str) -> None:
    # 9 slots each, of 8 in a rack: rack 2 is empty when the second part is placed, rack 1 nearly.
    cluster = builders.cluster(6, slots=4, racks=3)
    found = places(name, chains(2, 12, cluster))
    assert set().union(*found[:3]) == {0, 1, 2}
    assert set().union(*found[3:]) == {2, 4, 5}


@pytest.mark.parametrize("name", PART_BY_PART)
def test_the_largest_part_comes_first(name: str) -> None:
    topology = combined([builders.chain(2), builders.chain(2)])
    threads = dict(zip(topology.index, (1, 1, 3, 3), strict=True))
    allocation = builders.allocation(topology, threads, cpu=0.5, mem=0.5)
    cluster = Cluster((Node("small", 1, 3.5), Node("large", 3, 10.5)), slot_memory_gb=3.5)
    assert places(name, PlacementProblem(topology, allocation, cluster)) == [{0}, {0}, {1}, {1}]


@pytest.mark.parametrize("name", PART_BY_PART)
def test_the_placement_says_how_many_parts_there_are(name: str) -> None:
    answer = registry.placer(Choice(name)).place(chains(3, 1, builders.cluster(1)))
    assert isinstance(answer, Placement)
    assert answer.reasons[-1] == "3 independent parts, one after the other"
