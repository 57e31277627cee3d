"""Paper 4's pipeline-based linear scheduling: a Latin square says where threads go, and which
node sends to which in each step.

The letters are the paper's: t threads per component (an operator), N nodes, G = gcd(t, N),
t' = t/G, N' = N/G. Its matrix M_inter is made in four moves (section III.A): components round
robin over a t × N matrix, rows regrouped into classes, G × G blocks moved, blocks turned into
diagonals. Together they have a closed form, used here in both directions:

    M_inter[i, j] = ((i - j) mod G)·N' + q,   with q·t' + ⌊i/G⌋ = ⌊j/G⌋  (mod N')

Every row is a permutation of 0 … N-1, and rows t … N-1 of the same formula are the block rows that
the paper adds to complete the N × N Latin square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import (
    Allocation,
    CommunicationSchedule,
    Placement,
    Refusal,
    Topology,
    counted,
)
from slotwise.placers._workers import worker_slots
from slotwise.placers.base import Guarantee, PlacementProblem

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pipeline:
    """Thread i of a component goes to the node whose column holds the component in row i.

    1. Components are numbered in topological order, loops left out. N of them share a square; the
       next N get the same one, with names of their own (Proposition 1.1: the moves have period
       lcm(t, N), which is N' components).
    2. t is the largest thread count; components with fewer have dummies in their last rows, which
       take no place. If G = 1 there are no blocks to refine: t is raised until G ≠ 1, which is said
       in the reasons. One node has G = 1 whatever t is.
    3. t > N, which the paper leaves out, needs nothing new: rows repeat after N, so a node gets
       ⌊t/N⌋ or ⌈t/N⌉ threads of a component, up to one block; the schedule is the first N rows.
    4. In a node, threads go to its slots round robin. CPU and memory are not looked at.

    O(threads + N² + streams · N'), and N · threads for the stalls where streams join.
    """

    name: ClassVar[str] = "pipeline"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset()

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        topology, allocation, cluster = problem.topology, problem.allocation, problem.cluster
        slots = worker_slots(self.name, topology, cluster)
        if isinstance(slots, Refusal):
            return slots
        slots = np.sort(slots)
        nodes = int(cluster.slot_node[slots[-1]]) + 1
        largest = int(allocation.threads.max())
        threads = padded(largest, nodes)
        seats = _seats(topology, threads, nodes)
        operator = allocation.thread_operator
        row = np.arange(len(operator)) - allocation.first_thread[operator]
        node = column_of(seats[np.argsort(topology.order)][operator], row, threads, nodes)
        senders = communication_square(seats[:nodes], threads, nodes)
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            slots[_round_robin(node, np.searchsorted(cluster.slot_node[slots], range(nodes + 1)))],
            _reasons(largest, threads, nodes),
            schedule=_schedule(topology, allocation, node, senders),
        )


def padded(threads: int, nodes: int) -> int:
    """The least t ≥ `threads` that shares a divisor with the number of nodes."""
    while nodes > 1 and math.gcd(threads, nodes) == 1:
        threads += 1
    return threads


def column_of(seat: Ints, row: Ints, threads: int, nodes: int) -> Ints:
    """The column of M_inter (a node) that holds the id `seat` in `row`."""
    side = math.gcd(threads, nodes)
    blocks = nodes // side
    block = (seat % blocks * (threads // side) + row // side) % blocks
    return block * side + (row - seat // blocks) % side


def refine(streams: Sequence[tuple[int, int]], threads: int, nodes: int) -> list[int]:
    """Algorithm 2: components that talk to each other come into the same block.

    The answer's entry c is the id in M_inter whose cells component c takes: its `seat`. For each
    pair of blocks (first < second) and stream from a component in the first to one in the second,
    in ascending order, the target changes seats with a component of the first block that the source
    sends nothing to: the (s+1)-th highest, s being the swaps made for this pair, at most ⌊G/2⌋.
    The paper reads the blocks' members from a list made once, so that a component could be swapped
    after it had left its block; here members are read anew for each pair of blocks, and one that
    has left in the meantime is passed over.

    >>> refine([(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)], threads=6, nodes=9)
    [0, 6, 2, 3, 8, 5, 1, 7, 4]
    """
    return _Refinement(streams, threads, nodes).run()


def communication_square(seats: Ints, threads: int, nodes: int) -> Ints:
    """senders[step, node] of the N × N Latin square M_fin: in row `step`, the column of `node`.

    The block of a column depends on the block of the row only, and the place in it on the place in
    that: N² additions are all it takes.
    """
    side = math.gcd(threads, nodes)
    steps = np.arange(nodes)[:, None]
    block = column_of(seats, steps[::side], threads, nodes) // side * side
    within = column_of(seats, steps[:side], threads, nodes) % side
    return (block[:, None, :] + within).reshape(nodes, nodes)


class _Refinement:
    def __init__(self, streams: Sequence[tuple[int, int]], threads: int, nodes: int) -> None:
        self.side = math.gcd(threads, nodes)
        self.blocks = nodes // self.side
        step = threads // self.side
        self.seat = list(range(nodes))
        self.block = [seat % self.blocks * step % self.blocks for seat in self.seat]
        self.members: list[set[int]] = [set() for _ in range(self.blocks)]
        for component, block in enumerate(self.block):
            self.members[block].add(component)
        self.targets: list[set[int]] = [set() for _ in range(nodes)]
        for source, target in streams:
            self.targets[source].add(target)

    def run(self) -> list[int]:
        for first in range(self.blocks):
            second = self._next_block(first, first)
            while second is not None:
                self._join(first, second)
                second = self._next_block(first, second)
        return self.seat

    def _next_block(self, first: int, after: int) -> int | None:
        """The next block that one in `first` sends to."""
        reached = (self.block[t] for source in self.members[first] for t in self.targets[source])
        return min((block for block in reached if block > after), default=None)

    def _join(self, first: int, second: int) -> None:
        sources = sorted(self.members[first])
        swaps = 0
        for source in sources:
            for target in sorted(self.targets[source] & self.members[second]):
                if swaps == self.side // 2 or self.block[source] != first:
                    break
                strangers = [
                    c for c in reversed(sources) if c != source and c not in self.targets[source]
                ]
                other = next((c for c in strangers[swaps:] if self.block[c] == first), None)
                if other is not None:
                    self._swap(target, other)
                    swaps += 1

    def _swap(self, one: int, other: int) -> None:
        for component, block in ((one, self.block[other]), (other, self.block[one])):
            self.members[self.block[component]].remove(component)
            self.members[block].add(component)
        for values in (self.seat, self.block):
            values[one], values[other] = values[other], values[one]


def _seats(topology: Topology, threads: int, nodes: int) -> Ints:
    """Seats by place in topological order, dummies at the end: N for each group of N components."""
    place = np.argsort(topology.order)
    groups: list[list[tuple[int, int]]] = [[] for _ in range(0, len(topology.operators), nodes)]
    for stream, (source, target) in zip(topology.streams, place[_ends(topology)], strict=True):
        if not stream.loop and source // nodes == target // nodes:
            groups[source // nodes].append((int(source % nodes), int(target % nodes)))
    return np.concatenate([refine(streams, threads, nodes) for streams in groups])


def _ends(topology: Topology) -> Ints:
    return np.array(topology.edges, dtype=np.int64).reshape(-1, 2)


def _round_robin(node: Ints, first: Ints) -> Ints:
    """Threads of a node, in order, over its slots first[node] … first[node+1]-1."""
    by_node = np.argsort(node, kind="stable")
    sizes = np.bincount(node, minlength=len(first) - 1)
    rank = np.empty_like(node)
    rank[by_node] = np.arange(len(node)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return first[node] + rank % (first[node + 1] - first[node])


def _reasons(largest: int, threads: int, nodes: int) -> tuple[str, ...]:
    if threads == largest:
        return ()
    return (
        f"{counted(largest, 'thread')} and {counted(nodes, 'node')} have no common divisor: "
        f"padded with dummies to {counted(threads, 'thread')}",
    )


def _schedule(
    topology: Topology, allocation: Allocation, node: Ints, senders: Ints
) -> CommunicationSchedule:
    """With the extra steps of a round of the full pipeline: in each time slot the most that any
    stage needs, being the most threads of the sending node that feed one thread, less one.
    """
    nodes = len(senders)
    stages = _stages(topology)
    held = np.zeros((len(topology.operators), nodes), dtype=np.int64)
    np.add.at(held, (allocation.thread_operator, node), 1)
    stalls = np.zeros((max(stages) + 1, nodes), dtype=np.int64)
    for target, stage in enumerate(stages):
        sources = [topology.edges[stream][0] for stream in topology.inputs[target]]
        feeding = held[sources].sum(axis=0)
        if feeding.max() > 1:
            arriving = feeding[senders[:, held[target] > 0]].max(axis=1) - 1
            # In time slot δ stage l does step δ - l.
            stalls[stage] = np.maximum(stalls[stage], np.roll(arriving, stage))
    return CommunicationSchedule(senders, int(stalls.max(axis=0).sum()), max(stages) + 1)


def _stages(topology: Topology) -> list[int]:
    """Per operator, the stage that feeds it: 0 for those that only sources feed. Sources: 0 too,
    nothing feeds them.
    """
    stages = [0] * len(topology.operators)
    for operator in topology.order:
        for stream in topology.inputs[operator]:
            source = topology.edges[stream][0]
            if not topology.streams[stream].loop and topology.operators[source].kind != "source":
                stages[operator] = max(stages[operator], stages[source] + 1)
    return stages
