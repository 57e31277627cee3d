"""The traffic graph cut into one part per node by METIS: paper 3's baseline, `GraphPartition`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Placement, Refusal, counted
from slotwise.placers._options import check_option
from slotwise.placers._pairs import Pairs
from slotwise.placers._silence import silenced_stdout
from slotwise.placers._workers import shared_evenly, worker_slots
from slotwise.placers.base import Guarantee, PlacementProblem

LARGEST_SUM = 2**30
"""METIS counts in 32-bit integers: weights are scaled so that their sum stays below."""
LARGEST_SEED = 2**31 - 1
"""For the same reason."""
VERTICES_PER_NODE = 16


@dataclass(frozen=True)
class Partition:
    """Threads are vertices weighing their CPU, pairs of threads edges weighing their tuples/s.
    METIS cuts as little traffic as it can, each part weighing about its node's share of the CPU.

    1. Derived traffic is the same for all threads of an operator, so those are interchangeable:
       where there are many threads, consecutive ones of an operator are one vertex, as long as a
       node has about 16 vertices. The cut is that of the threads; only its grain is coarser.
       Measured traffic is never contracted.
    2. In a node, threads go to the slot with the least CPU load. Capacities are not looked at.
    3. With fewer vertices than nodes, the first nodes get one each.

    METIS takes about O(pairs + nodes · log nodes); the same seed gives the same cut.
    """

    name: ClassVar[str] = "partition"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset()

    seed: int = 0

    def __post_init__(self) -> None:
        valid = 0 <= self.seed <= LARGEST_SEED
        check_option("seed", self.seed, valid, f"an integer from 0 to {LARGEST_SEED}")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        allocation, cluster = problem.allocation, problem.cluster
        slots = worker_slots(self.name, problem.topology, cluster)
        if isinstance(slots, Refusal):
            return slots
        shares = np.bincount(cluster.slot_node[slots], cluster.slot_cpu[slots])
        vertex = _vertices(allocation, len(shares) if problem.measured is None else None)
        flows = problem.thread_traffic
        size = int(vertex[-1]) + 1
        pairs = Pairs.of(size, vertex[flows.senders], vertex[flows.receivers], flows.rates)
        cpu = np.bincount(vertex, allocation.thread_cpu)
        part = self._cut(pairs, cpu.astype(np.float64), shares[:size].astype(np.float64))
        parts = counted(len(shares[:size]), "part")
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            shared_evenly(part[vertex], allocation.thread_cpu, slots, cluster),
            (f"{parts} of a graph of {counted(size, 'vertex', 'vertices')}",),
        )

    def _cut(
        self, pairs: Pairs, cpu: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        import pymetis

        # METIS bisects again and again, and prints a complaint where a half has no vertex left for
        # its parts. That is no fault: a few heavy threads fill the large nodes and the others stay
        # empty. Which weights lead there is known only after the cut, so it cannot be avoided.
        with silenced_stdout():
            _, parts = pymetis.part_graph(
                len(shares),
                pymetis.CSRAdjacency(pairs.first, pairs.neighbours),
                vweights=_integers(cpu),
                eweights=_integers(pairs.rates),
                tpwgts=(shares / shares.sum()).tolist(),
                options=pymetis.Options(seed=self.seed),
            )
        return np.array(parts, dtype=np.int64)


def _vertices(allocation: Allocation, nodes: int | None) -> NDArray[np.int64]:
    """Each thread's vertex; `nodes` None: one of its own."""
    threads = np.arange(allocation.total_threads)
    if nodes is None:
        return threads
    size = max(1, len(threads) // (nodes * VERTICES_PER_NODE))
    operator = allocation.thread_operator
    begins = (threads - allocation.first_thread[operator]) % size == 0
    return np.cumsum(begins) - 1


def _integers(weights: NDArray[np.float64]) -> NDArray[np.int32]:
    """In proportion, at least 1 each, and in sum small enough for METIS."""
    total = weights.sum()
    scaled = weights * (LARGEST_SUM / total) if total > 0 else weights
    return np.maximum(1, scaled).astype(np.int32)
