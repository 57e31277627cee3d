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
from slotwise.placers._pairs import Pairs, without_rounding
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

    A thread's load is its part of its operator's CPU, by the tuples that reach it: few keys of a
    `fields` grouping can make one thread of an operator much heavier than another.

    1. Pairs by falling traffic, both directions added. If neither is assigned, both go to the least
       loaded worker (if it has room for one only, the other to the next). Else all assignments of
       the two to the workers they are on and the least loaded one are tried, and the one that keeps
       most traffic inside workers is taken; at a tie they stay, or else the first tried.
    2. Threads without traffic then go to the least loaded worker, largest first.
    3. At most M(α) threads per worker (`most_threads`), and no more load than a slot has CPU, or,
       if some thread then finds no worker, than the largest node has. The paper's workers share
       the cores of their node, so that it bounds nodes only; here a slot has its own.
    4. All min(workers, threads) workers are used: each that is empty at the end gets the thread
       that exchanges least with its own worker, counted anew after each move; ties: the lowest.
    5. The same with workers onto nodes, where the limits are a node's slots and its CPU (speed ×
       slots). The least loaded node is the one with the smallest share of its CPU in use, so that
       unequal nodes compare. A worker left over goes to the node with the most CPU free. Nodes
       hold what the allocation charges, and what was measured unless a worker then finds no node.
    6. The current placement is kept if it holds these limits for the same threads and sends no more
       tuples between nodes, and of equally many no more between slots, than what 1 to 5 found. By
       how much less is worth a change (the paper's R %) is for a controller to say.

    So nodes hold their CPU; a slot may be over its own where threads find no worker otherwise, or
    where it is slower than the fastest, for which workers are made.

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
        loads = _thread_loads(problem)
        limits = float(cluster.slot_cpu.max()), float(_node_cpu(cluster).max()), np.inf
        worker = self._workers(traffic, loads, workers, most, limits)
        charged = np.bincount(worker, allocation.thread_cpu, workers).astype(np.float64)
        needed = np.maximum(charged, np.bincount(worker, loads, workers))
        node = _nodes(traffic.between(worker, workers), cluster, needed, charged)
        if node.min() < 0:
            return self._refusal(problem, worker, charged, node)
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
        node_cpu = _node_cpu(cluster)
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


def _thread_loads(problem: PlacementProblem) -> Floats:
    """Per thread, CPU: its operator's, by its part of the tuples that reach the operator.

    Where none do (a source, or an operator at rest) all threads of the operator have the same. A
    thread uses one core at most: what is asked of it beyond that does not make a slot any fuller.
    """
    allocation, operator = problem.allocation, problem.allocation.thread_operator
    received = _received(problem)
    mean = (np.bincount(operator, received) / allocation.threads)[operator]
    part = np.divide(received, mean, out=np.ones(len(mean)), where=mean > 0)
    even = allocation.thread_cpu
    one_core = np.maximum(even, problem.cluster.slot_cpu.max())
    return np.asarray(np.minimum(even * without_rounding(part), one_core))


def _received(problem: PlacementProblem) -> Floats:
    """Per thread, tuples/s that reach it: as measured, or else as the streams divide evenly."""
    allocation, flows = problem.allocation, problem.measured
    if flows is not None:
        received = np.bincount(flows.receivers, flows.rates, allocation.total_threads)
        return received.astype(np.float64, copy=False)
    divided, first = np.zeros(allocation.total_threads), allocation.first_thread
    topology = problem.topology
    for stream, (_, target), rate in zip(
        topology.streams, topology.edges, problem.stream_rates, strict=True
    ):
        to_one = stream.grouping.kind == "global"
        last = first[target] + 1 if to_one else first[target + 1]
        divided[first[target] : last] += rate / (last - first[target])
    return divided


def _node_cpu(cluster: Cluster) -> Floats:
    return np.bincount(cluster.slot_node, cluster.slot_cpu).astype(np.float64)


def _nodes(between: Traffic, cluster: Cluster, needed: Floats, charged: Floats) -> Ints:
    """Rule 5: each worker's node, -1 if even what is charged found no room."""
    room, capacity = np.diff(cluster.first_slot), _node_cpu(cluster)
    node = _assign(between, needed, room, capacity)
    if node.min() < 0 and np.any(needed > charged):
        node = _assign(between, charged, room, capacity)
    return node


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

    A slot or node may have as much load as it has CPU, or as one of the placement that was found.
    """
    allocation, cluster = problem.allocation, problem.cluster
    slots = current.slots
    if current.threads != tuple(allocation.threads.tolist()) or slots.min() < 0:
        return False
    charged = np.bincount(cluster.slot_node[slots], allocation.thread_cpu, len(cluster.nodes))
    loads, node = _thread_loads(problem), cluster.slot_node
    return (
        len(current.used_slots) == workers
        and int(np.bincount(slots).max()) <= most
        and bool(np.all(charged <= _node_cpu(cluster) + TOLERANCE))
        and _is_within(loads, slots, cluster.slot_cpu, _slots_of(found))
        and _is_within(loads, node[slots], _node_cpu(cluster), node[_slots_of(found)])
    )


def _slots_of(found: Placement | Refusal) -> Ints:
    return found.slots if isinstance(found, Placement) else np.empty(0, dtype=np.int64)


def _is_within(loads: Floats, place: Ints, capacity: Floats, found: Ints) -> bool:
    """Has no place more load than it can take, or than the fullest has where threads are `found`?

    `found` is empty where no placement was.
    """
    load = np.bincount(place, loads, len(capacity))
    fullest = np.bincount(found, loads).max() if len(found) else 0.0
    return bool(np.all(load <= np.maximum(capacity, fullest) + TOLERANCE))


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
