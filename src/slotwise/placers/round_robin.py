"""Threads in turn over the slots: paper 1's default Storm mapping (DSM) and Storm's Even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from slotwise.model import Placement, Refusal, counted
from slotwise.placers._options import check_option
from slotwise.placers._workers import even_order, too_few_slots
from slotwise.placers.base import Guarantee, PlacementProblem


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
        if self.workers is not None:
            check_option("workers", self.workers, self.workers >= 1, "an integer ≥ 1")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        allocation, cluster = problem.allocation, problem.cluster
        workers = self.workers if self.workers is not None else problem.topology.workers
        if workers is not None and (refusal := too_few_slots(self.name, workers, cluster)):
            return refusal
        threads = np.arange(allocation.total_threads)
        turn = np.arange(cluster.slots) if workers is None else even_order(cluster)[:workers]
        how = "in the cluster's order" if workers is None else "spread evenly over the nodes"
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            turn[threads % len(turn)],
            (f"threads in turn over {counted(min(len(turn), len(threads)), 'slot')}, {how}",),
        )
