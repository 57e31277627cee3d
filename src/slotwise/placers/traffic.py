"""Paper 2's online scheduler: threads that exchange most share a worker, and a node."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Placement, Refusal, counted
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._block_assignment import assign_blocks
from slotwise.placers._blocks import Blocks
from slotwise.placers._options import check_option
from slotwise.placers._pair_assignment import assign
from slotwise.placers._pairs import Pairs
from slotwise.placers._workers import most_threads, worker_slots
from slotwise.placers.base import Guarantee, PlacementProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Traffic = Pairs | Blocks
ROUNDING = 1e-12
"""Sums of rates that differ by less than this part of the largest are equal."""


@dataclass(frozen=True)
class TrafficBased:
    """Algorithm 1 of paper 2 (section 3.2.3), from measured traffic between threads where there is
    any, else derived from the streams.

    1. Pairs by falling traffic, both directions added. If neither is assigned, both go to the least
       loaded worker (if it has room for one only, the other to the next). Else all assignments of
       the two to the workers they are on and the least loaded one are tried, and the one that keeps
       most traffic inside workers is taken; at a tie they stay, or else the first tried.
    2. Threads without traffic then go to the least loaded worker, largest first.
    3. At most M(α) threads per worker (`most_threads`), and no more CPU than the largest node has:
       the paper lets a worker grow past that, and then finds no place for it. Where the topology
       does not ask for a number of workers, every slot is one, and gets no more CPU than it has
       unless some thread then finds no worker.
    4. All min(workers, threads) workers are used: each that is empty at the end gets the thread
       that exchanges least with its own worker, counted anew after each move; ties: the lowest.
    5. The same with workers onto nodes, where the limits are a node's slots and its CPU (speed ×
       slots). The least loaded node is the one with the smallest share of its CPU in use, so that
       unequal nodes compare. A worker left over goes to the node with the most CPU free.
    6. The current placement is kept if it holds these limits for the same threads and sends no more
       tuples between nodes, and of equally many no more between slots, than what 1 to 5 found. By
       how much less is worth a change (the paper's R %) is for a controller to say.

    So nodes hold their CPU, but a slot may be over its own.

    Measured traffic is in pairs of threads: O(pairs · neighbours of a thread + threads · log
    threads). Derived traffic is in blocks of threads that are alike (`Blocks`), with the same
    answer as for all pairs of them: O(pairs · streams of an operator + threads · log threads).
    """

    name: ClassVar[str] = "traffic"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"node-cpu"})

    alpha: float = 0.0
    """0: threads spread evenly over workers. 1: as many in one worker as the others can spare."""

    def __post_init__(self) -> None:
        check_option("alpha", self.alpha, 0 <= self.alpha <= 1, "a number from 0 to 1")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        slots = worker_slots(self.name, problem.topology, problem.cluster)
        if isinstance(slots, Refusal):
            return slots
        threads = problem.allocation.total_threads
        workers = min(len(slots), threads)
        most = most_threads(threads, workers, self.alpha)
        traffic = _traffic(problem)
        found = self._schedule(problem, traffic, workers, most)
        current = problem.current
        if current is None or not _holds_limits(problem, current, workers, most, found):
            return found
        leaving = _leaving(problem, traffic, current)
        if isinstance(found, Placement) and _is_less(_leaving(problem, traffic, found), leaving):
            return found
        reason = (
            f"the current placement is kept: {leaving[0]:,.1f} tuples/s leave their node, and no "
            "placement with less traffic was found"
        )
        return Placement(self.name, current.threads, current.slots, (reason,))

    def _schedule(
        self, problem: PlacementProblem, traffic: Traffic, workers: int, most: int
    ) -> Placement | Refusal:
        """Rules 1 to 5: threads onto workers, workers onto nodes."""
        allocation, cluster = problem.allocation, problem.cluster
        node_cpu = np.add.reduceat(cluster.slot_cpu, cluster.first_slot[:-1])
        limits: tuple[float, ...] = float(node_cpu.max()), np.inf
        if problem.topology.workers is None:
            limits = float(cluster.slot_cpu.max()), *limits
        worker = self._workers(traffic, allocation.thread_cpu, workers, most, limits)
        load = np.bincount(worker, allocation.thread_cpu, workers).astype(np.float64)
        between = traffic.between(worker, workers)
        node = _assign(between, load, np.diff(cluster.first_slot), node_cpu)
        if node.min() < 0:
            return self._refusal(problem, worker, load, node)
        measured = "measured traffic" if problem.measured else "traffic derived from streams"
        held = f"{counted(workers, 'worker')} of at most {counted(most, 'thread')}"
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            _slots_in_turn(node, cluster)[worker],
            (f"{held} (α = {self.alpha:g})", measured),
        )

    def _workers(
        self, traffic: Traffic, cpu: Floats, workers: int, most: int, limits: tuple[float, ...]
    ) -> Ints:
        """Workers within the first of the CPU `limits` under which every thread finds one."""
        if most == 1:
            return np.arange(len(cpu))  # a worker each: nothing to decide
        for limit in limits:
            worker = _assign(traffic, cpu, np.full(workers, most), np.full(workers, limit))
            if worker.min() >= 0:
                break
        _use_all(worker, traffic, workers)
        return worker

    def _refusal(
        self, problem: PlacementProblem, worker: Ints, load: Floats, node: Ints
    ) -> Refusal:
        topology, cluster = problem.topology, problem.cluster
        stuck = int(np.argmin(node))
        placed, nodes = node >= 0, len(cluster.nodes)
        node_cpu = np.bincount(cluster.slot_node, cluster.slot_cpu)
        has_slot = np.bincount(node[placed], minlength=nodes) < np.diff(cluster.first_slot)
        free = (node_cpu - np.bincount(node[placed], load[placed], nodes))[has_slot]
        missing = round(float(load[stuck] - free.max()), 9)
        thread = int(np.argmax(worker == stuck))
        operator = topology.operators[problem.allocation.thread_operator[thread]].name
        return Refusal(
            self.name,
            f"the worker that holds a thread of '{operator}' needs {load[stuck]:.4g} cpu, but no "
            f"node with a free slot has more than {free.max():.4g} left",
            operator,
            "cpu",
            missing,
            # With the workers fixed, more slots make this one no smaller.
            final=topology.workers is not None and bool(load[stuck] > node_cpu.max() + TOLERANCE),
        )


def _traffic(problem: PlacementProblem) -> Traffic:
    """Between threads: measured in pairs, or else derived from the streams in blocks."""
    flows, allocation = problem.measured, problem.allocation
    if flows is None:
        return Blocks.of(problem.topology, allocation, problem.stream_rates)
    return Pairs.of(allocation.total_threads, flows.senders, flows.receivers, flows.rates)


def _assign(traffic: Traffic, loads: Floats, room: Ints, capacity: Floats) -> Ints:
    if isinstance(traffic, Blocks):
        return assign_blocks(traffic, loads, room, capacity)
    return assign(traffic, loads, room, capacity)


def _use_all(worker: Ints, traffic: Traffic, workers: int) -> None:
    """Rule 4, in place. O(threads · log threads), and per empty worker the threads of another."""
    count = np.bincount(worker, minlength=workers)
    empty = np.flatnonzero(count == 0).tolist()
    if not empty:
        return
    by_worker = np.argsort(worker, kind="stable")
    last = np.cumsum(count)
    first = last - count
    local = traffic.local_rates(worker)
    unit = float(local.max()) * ROUNDING or 1.0
    least = list(zip(np.rint(local / unit).tolist(), range(len(local)), strict=True))
    heapify(least)
    for target in empty:
        rate, thread = heappop(least)
        # What became less has a newer entry; a thread that is alone stays.
        while rate != np.rint(local[thread] / unit) or count[worker[thread]] == 1:
            rate, thread = heappop(least)
        home = worker[thread]
        worker[thread] = target
        count[home] -= 1
        count[target] = 1
        left = by_worker[first[home] : last[home]]
        left = left[worker[left] == home]
        fewer = traffic.rates_with(thread, left)
        local[left] -= fewer
        changed = left[fewer > 0]
        for rate, other in zip(np.rint(local[changed] / unit).tolist(), changed, strict=True):
            heappush(least, (rate, int(other)))


def _slots_in_turn(node: Ints, cluster: Cluster) -> Ints:
    """Each worker's slot: the workers of a node take its slots in order."""
    by_node = np.argsort(node, kind="stable")
    sizes = np.bincount(node, minlength=len(cluster.nodes))
    slots = np.empty_like(node)
    rank = np.arange(len(node)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slots[by_node] = cluster.first_slot[node[by_node]] + rank
    return slots


def _holds_limits(
    problem: PlacementProblem,
    current: Placement,
    workers: int,
    most: int,
    found: Placement | Refusal,
) -> bool:
    """Is `current` a placement of the same threads that rules 3 to 5 allow?

    A worker may have as much CPU as a slot has, or as one of the placement that was found.
    """
    allocation, cluster = problem.allocation, problem.cluster
    slots = current.slots
    if current.threads != tuple(allocation.threads.tolist()) or slots.min() < 0:
        return False
    cpu = np.bincount(slots, allocation.thread_cpu, cluster.slots)
    allowed = cluster.slot_cpu
    if isinstance(found, Placement):
        largest = np.bincount(found.slots, allocation.thread_cpu, cluster.slots).max()
        allowed = np.maximum(allowed, largest)
    over = np.bincount(cluster.slot_node, cpu) - np.bincount(cluster.slot_node, cluster.slot_cpu)
    return (
        len(current.used_slots) == workers
        and int(np.bincount(slots).max()) <= most
        and bool(np.all(cpu <= allowed + TOLERANCE))
        and bool(np.all(over <= TOLERANCE))
    )


def _leaving(
    problem: PlacementProblem, traffic: Traffic, placement: Placement
) -> tuple[float, float]:
    """Tuples/s that leave their node, and that leave their slot."""
    slots = placement.slots
    return traffic.leaving(problem.cluster.slot_node[slots]), traffic.leaving(slots)


def _is_less(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """By the first figures, or by the second where those are equal but for rounding."""
    close = TOLERANCE * max(*one, *other)
    if abs(one[0] - other[0]) > close:
        return one[0] < other[0]
    return one[1] < other[1] - close
