"""The traffic graph cut into one part per node by METIS: paper 3's baseline, `GraphPartition`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.placers._base import Guarantee
from slotwise.placers._pairs import Pairs
from slotwise.placers._workers import shared_evenly, worker_slots

LARGEST_SUM = 2**30
"""METIS counts in 32-bit integers: weights are scaled so that their sum stays below."""
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

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        slots = worker_slots(self.name, topology, cluster)
        if isinstance(slots, Refusal):
            return slots
        shares = np.bincount(cluster.slot_node[slots], cluster.slot_cpu[slots])
        vertex = _vertices(allocation, len(shares) if traffic.measured is None else None)
        flows = traffic.between_threads(topology, allocation)
        size = int(vertex[-1]) + 1
        pairs = Pairs.of(size, vertex[flows.senders], vertex[flows.receivers], flows.rates)
        cpu = np.bincount(vertex, allocation.thread_cpu)
        part = self._cut(pairs, cpu.astype(np.float64), shares[:size].astype(np.float64))
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            shared_evenly(part[vertex], allocation.thread_cpu, slots, cluster),
            (f"{len(shares[:size])} parts of a graph of {size} vertices",),
        )

    def _cut(
        self, pairs: Pairs, cpu: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        import pymetis

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
