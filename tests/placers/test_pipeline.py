"""Paper 4's placement and schedule, with both of its examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise.model import Placement, Topology
from slotwise.placers.base import PlacementProblem
from slotwise.placers.pipeline import Pipeline, column_of, communication_square, padded, refine
from slotwise.testing.placers import cases
from tests import builders

RANDOM = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]
LINEAR = [(0, 1), (1, 2), (2, 3)]
sizes = st.tuples(st.integers(1, 24), st.integers(1, 24))


def grid(text: str) -> list[list[int]]:
    return [[int(cell) for cell in row.split()] for row in text.split("/")]


def matrix(rows: int, threads: int, nodes: int, seats: list[int] | None = None) -> list[list[int]]:
    """The matrix that `column_of` describes, or its first rows."""
    ids = np.arange(nodes)
    at = np.array(seats if seats is not None else ids)
    cells = np.empty((rows, nodes), dtype=np.int64)
    for row in range(rows):
        cells[row, column_of(at, np.full(nodes, row), threads, nodes)] = ids
    return cells.tolist()


def moved_step_by_step(threads: int, nodes: int) -> NDArray[np.int64]:
    """M_inter as the paper makes it: four moves, one after the other."""
    side = math.gcd(threads, nodes)
    rows, columns = threads // side, nodes // side
    i, j = np.divmod(np.arange(threads * nodes), nodes)
    ids = ((i * nodes + j) // threads).reshape(threads, nodes)
    grouped = np.empty_like(ids)
    for row in range(threads):
        grouped[row // rows + row % rows * side] = ids[row]
    moved = np.empty_like(ids)
    for r in range(rows):
        for c in range(columns):
            to = (r * columns + c) % rows
            block = grouped[r * side : (r + 1) * side, c * side : (c + 1) * side]
            for row in range(side):
                for column in range(side):
                    target = to * side + (row + column) % side
                    moved[target, c * side + column] = block[row, column]
    return moved


def place(of: Topology, threads: dict[str, int], nodes: int, slots: int = 4) -> Placement:
    allocation = builders.allocation(of, threads)
    answer = Pipeline().place(PlacementProblem(of, allocation, builders.cluster(nodes, slots)))
    assert isinstance(answer, Placement)
    return answer


class TestRandomTopologyOfThePaper:
    """6 threads at most on 9 nodes."""

    def test_m_inter(self) -> None:
        assert matrix(6, 6, 9) == grid(
            "0 6 3 2 8 5 1 7 4/3 0 6 5 2 8 4 1 7/6 3 0 8 5 2 7 4 1/"
            "1 7 4 0 6 3 2 8 5/4 1 7 3 0 6 5 2 8/7 4 1 6 3 0 8 5 2"
        )

    def test_swaps_6_with_1_and_8_with_4(self) -> None:
        assert refine(RANDOM, 6, 9) == [0, 6, 2, 3, 8, 5, 1, 7, 4]

    def test_square(self) -> None:
        assert matrix(9, 6, 9, refine(RANDOM, 6, 9)) == grid(
            "0 1 3 2 4 5 6 7 8/3 0 1 5 2 4 8 6 7/1 3 0 4 5 2 7 8 6/"
            "6 7 8 0 1 3 2 4 5/8 6 7 3 0 1 5 2 4/7 8 6 1 3 0 4 5 2/"
            "2 4 5 6 7 8 0 1 3/5 2 4 8 6 7 3 0 1/4 5 2 7 8 6 1 3 0"
        )

    def test_placement_and_stall(self) -> None:
        dag = builders.topology("s>b1", "b1>b2", "b1>b3", "b2>b4", "b3>b4")
        answer = place(dag, {"s": 6, "b1": 5, "b2": 4, "b3": 4, "b4": 5}, nodes=9)
        nodes = (answer.slots // 4).tolist()
        assert nodes[:6] == [0, 1, 2, 3, 4, 5]  # U V W X Y Z
        assert nodes[6:11] == [1, 2, 0, 4, 5]  # A B C D E
        # Step 0: M and H on node 5 both feed O there, so the pipeline stalls.
        assert nodes[15 + 3] == nodes[11 + 2] == nodes[19 + 1] == 5
        schedule = answer.schedule
        assert schedule is not None
        assert schedule.senders[0, 5] == 5
        assert schedule.stages == 3
        assert schedule.stall_steps > 0
        assert answer.reasons == ()


class TestLinearTopologyOfThePaper:
    """4 threads at most on 8 nodes."""

    def test_m_inter(self) -> None:
        assert matrix(4, 4, 8) == grid(
            "0 6 4 2 1 7 5 3/2 0 6 4 3 1 7 5/4 2 0 6 5 3 1 7/6 4 2 0 7 5 3 1"
        )

    def test_square(self) -> None:
        assert matrix(8, 4, 8, refine(LINEAR, 4, 8)) == grid(
            "0 1 3 2 6 7 5 4/2 0 1 3 4 6 7 5/3 2 0 1 5 4 6 7/1 3 2 0 7 5 4 6/"
            "6 7 5 4 0 1 3 2/4 6 7 5 2 0 1 3/5 4 6 7 3 2 0 1/7 5 4 6 1 3 2 0"
        )

    def test_placement_without_stalls(self) -> None:
        answer = place(builders.chain(4), {"o0": 3, "o1": 4, "o2": 3, "o3": 4}, nodes=8)
        # L M N / A B C D / E F G / H I J K
        assert (answer.slots // 4).tolist() == [0, 1, 2, 1, 2, 3, 0, 3, 0, 1, 2, 3, 0, 1]
        assert answer.schedule is not None
        assert answer.schedule.stall_steps == 0

    def test_stages_follow_each_other(self) -> None:
        schedule = place(builders.chain(4), dict.fromkeys(["o0", "o1", "o2", "o3"], 4), 8).schedule
        assert schedule is not None
        assert [schedule.step(9, stage) for stage in range(3)] == [1, 0, 7]
        assert schedule.step(0, 1) is None


@settings(deadline=None)
@given(sizes)
def test_the_closed_form_is_the_four_moves(size: tuple[int, int]) -> None:
    assert matrix(size[0], *size) == moved_step_by_step(*size).tolist()


@settings(deadline=None)
@given(sizes)
def test_a_round_lets_every_node_send_to_every_node_once(size: tuple[int, int]) -> None:
    threads, nodes = size
    seats = np.random.default_rng(threads).permutation(nodes)
    senders = communication_square(seats, threads, nodes)
    everyone = np.arange(nodes)
    assert np.array_equal(np.sort(senders, axis=0), np.repeat(everyone[:, None], nodes, axis=1))
    assert np.array_equal(np.sort(senders, axis=1), np.repeat(everyone[None], nodes, axis=0))


@settings(deadline=None)
@given(sizes, st.sets(st.tuples(st.integers(0, 23), st.integers(0, 23)), max_size=30))
def test_refinement_only_changes_seats(
    size: tuple[int, int], streams: set[tuple[int, int]]
) -> None:
    threads, nodes = size
    inside = sorted((a, b) for a, b in streams if a < b < nodes)
    assert sorted(refine(inside, threads, nodes)) == list(range(nodes))


@pytest.mark.parametrize(("threads", "nodes", "padded_to"), [(5, 9, 6), (6, 9, 6), (3, 7, 7)])
def test_padding_until_there_is_a_common_divisor(threads: int, nodes: int, padded_to: int) -> None:
    assert padded(threads, nodes) == padded_to


def test_padding_is_said() -> None:
    answer = place(builders.chain(2), {"o0": 5, "o1": 5}, nodes=9)
    assert answer.reasons == (
        "5 threads and 9 nodes have no common divisor: padded with dummies to 6 threads",
    )


def test_one_node_needs_no_divisor() -> None:
    answer = place(builders.chain(2), {"o0": 5, "o1": 5}, nodes=1)
    assert answer.slots.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert answer.reasons == ()


def test_more_components_than_nodes_repeat() -> None:
    answer = place(builders.chain(8), {f"o{i}": 2 for i in range(8)}, nodes=4)
    nodes = (answer.slots // 4).reshape(8, 2)
    assert np.array_equal(nodes[:4], nodes[4:])


@settings(max_examples=100, deadline=None)
@given(case=cases())
def test_a_component_is_spread_evenly_whatever_the_sizes(case: PlacementProblem) -> None:
    """In each full block of rows a node gets one thread of a component: rule 3."""
    topology, allocation, cluster = case.topology, case.allocation, case.cluster
    answer = Pipeline().place(case)
    if isinstance(answer, Placement):
        nodes = min(topology.workers or cluster.slots, len(cluster.nodes))
        side = math.gcd(padded(int(allocation.threads.max()), nodes), nodes)
        node = cluster.slot_node[answer.slots]
        for operator, threads in enumerate(allocation.threads):
            held = np.bincount(node[allocation.thread_operator == operator], minlength=nodes)
            assert held.max() <= -(-int(threads) // nodes) + (side > 1)
