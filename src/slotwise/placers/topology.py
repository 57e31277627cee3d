"""Paper 2's offline scheduler: threads go where the operators that feed them already are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import ClassVar

import numpy as np

from slotwise.model import Placement, Refusal, counted
from slotwise.placers._options import check_option
from slotwise.placers._workers import most_threads, worker_slots
from slotwise.placers.base import Guarantee, PlacementProblem

Heap = list[tuple[int, int]]
"""(threads, worker), where the threads may be fewer than the worker has by now."""


@dataclass(frozen=True)
class TopologyBased:
    """Operators in topological order (loops left out); each thread goes to the least filled worker
    that holds a thread of an operator feeding it (paper 2, section 3.1), ties to the lowest.

    1. At most M(α) threads per worker (`most_threads`).
    2. min(workers, threads) workers are used. The paper gets there by β alone; here, besides,
       threads go to empty workers once there are only as many left as empty workers.
    3. From operator ⌊β·C⌋ on, of C, a thread goes to an empty worker while there is one. Before,
       empty workers are for sources, and for when nothing else has room: after the workers that
       feed the thread come the other used ones.
    4. Workers go to nodes round robin. CPU and memory are not looked at.

    O(threads · log threads + streams · threads per operator).
    """

    name: ClassVar[str] = "topology"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset()

    alpha: float = 0.0
    """0: threads spread evenly over workers. 1: as many in one worker as the others can spare."""
    beta: float = 0.5
    """The share of operators that are placed before empty workers are filled."""

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            check_option(name, value, 0 <= value <= 1, "a number from 0 to 1")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        topology, allocation, cluster = problem.topology, problem.allocation, problem.cluster
        slots = worker_slots(self.name, topology, cluster)
        if isinstance(slots, Refusal):
            return slots
        threads = allocation.total_threads
        workers = min(len(slots), threads)
        most = most_threads(threads, workers, self.alpha)
        filling = _Filling(workers, threads, most)
        chosen: dict[int, list[int]] = {}
        spread_from = math.floor(self.beta * len(topology.operators))
        for place, operator in enumerate(topology.order):
            feeding = {
                worker
                for stream in topology.inputs[operator]
                if not topology.streams[stream].loop
                for worker in chosen[topology.edges[stream][0]]
            }
            needed = int(allocation.threads[operator])
            chosen[operator] = filling.add(needed, feeding, spread=place >= spread_from)
        in_order = [worker for operator in sorted(chosen) for worker in chosen[operator]]
        held = f"{counted(workers, 'worker')} of at most {counted(most, 'thread')}"
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            slots[np.array(in_order)],
            (f"{held} (α = {self.alpha:g})",),
        )


class _Filling:
    """How many threads each worker has. Empty workers are taken in order, so the used ones are
    0 … used - 1.
    """

    def __init__(self, workers: int, threads: int, most: int) -> None:
        self.count = [0] * workers
        self.most = most
        self.used = 0
        self.threads_left = threads
        self.partly_filled: Heap = []

    def add(self, threads: int, feeding: Iterable[int], *, spread: bool) -> list[int]:
        """Workers for an operator's threads; `feeding` are those that hold threads feeding it."""
        near = [(self.count[worker], worker) for worker in feeding]
        heapify(near)
        spread = spread or not near
        return [self._add_one(near, spread) for _ in range(threads)]

    def _add_one(self, near: Heap, spread: bool) -> int:
        empty = len(self.count) - self.used
        worker = None
        if not (empty and (spread or empty == self.threads_left)):
            worker = self._least_filled(near)
            if worker is None:
                worker = self._least_filled(self.partly_filled)
        if worker is None:
            worker = self.used
            self.used += 1
            heappush(self.partly_filled, (1, worker))
        self.count[worker] += 1
        self.threads_left -= 1
        return worker

    def _least_filled(self, heap: Heap) -> int | None:
        """Counts only grow: an entry at the top that is still true is the least filled worker."""
        while heap:
            threads, worker = heap[0]
            if self.count[worker] >= self.most:
                heappop(heap)
            elif self.count[worker] > threads:
                heapreplace(heap, (self.count[worker], worker))
            else:
                return worker
        return None
