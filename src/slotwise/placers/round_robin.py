"""Threads in turn over the slots: paper 1's default Storm mapping (DSM) and Storm's Even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.placers._base import Guarantee


@dataclass(frozen=True)
class RoundRobin:
    """Operator by operator as declared, thread n goes to slot n mod slots; capacities play no part.

    Where the user fixes the number of workers (paper 2's *default* scheduler), min(workers,
    threads) slots are used, spread evenly over the nodes: slot 0 of each node, then slot 1 of
    each, and so on. Otherwise all slots are used in the cluster's order (paper 1, section 7.1).
    More workers than slots are refused. O(threads + slots).
    """

    name: ClassVar[str] = "round-robin"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset()

    workers: int | None = None
    """Slots to use; None: as many as the topology asks for, or all if it does not say."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}: write a whole number above 0")

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        workers = self.workers if self.workers is not None else topology.workers
        if workers is not None and workers > cluster.slots:
            return Refusal(
                self.name,
                f"{workers} workers are asked for, but there are {cluster.slots} slots",
                resource="slots",
                missing=float(workers - cluster.slots),
            )
        threads = np.arange(allocation.total_threads)
        turn = np.arange(cluster.slots) if workers is None else even_order(cluster)[:workers]
        how = "in the cluster's order" if workers is None else "spread evenly over the nodes"
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            turn[threads % len(turn)],
            (f"threads in turn over {min(len(turn), len(threads))} slots, {how}",),
        )


def even_order(cluster: Cluster) -> NDArray[np.int64]:
    """All slots, the first of every node before the second of any.

    >>> from slotwise.model import Node
    >>> even_order(Cluster((Node("a", 2, 7.0), Node("b", 2, 7.0)), slot_memory_gb=3.5)).tolist()
    [0, 2, 1, 3]
    """
    index_in_node = np.arange(cluster.slots) - cluster.first_slot[cluster.slot_node]
    return np.argsort(index_in_node, kind="stable")
