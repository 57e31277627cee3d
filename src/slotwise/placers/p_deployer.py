"""P-Deployer's packing: fill one machine after the other, saving network CPU (paper 3, 5.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Allocation, Placement, Refusal, Topology, counted
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._options import check_option
from slotwise.placers._parts import Parts
from slotwise.placers._shortfall import shortfall
from slotwise.placers._workers import shared_evenly, worker_slots
from slotwise.placers.base import Guarantee, PlacementProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class PDeployer:
    """Algorithm 1, bin centric: one node is open at a time, in the cluster's order. Of the tasks
    (threads) that fit, the one with the highest priority (Equation 6)

        a_r·saving − a_c·(C − cpu left)² − a_m·(M − mem left)²

    is placed; when none fits, the next node is opened. Ties: what exchanges most tuples with the
    node, then the operator declared first.

    1. C is Equation 3 (its lost + restored): the thread's share of CPU, and `transfer_cpu` for each
       tuple/s it exchanges with threads that are not on the node. Streams divide evenly over the
       pairs of threads, whatever the grouping. `saving` is what the task and its neighbours on the
       node stop paying. All in units of the open node's CPU and memory; a_c and a_m are the mean
       needs of the part's tasks when nothing is local.
    2. A task fits if what the node pays in all, the neighbours' savings taken off, stays within its
       CPU, and M within its memory. So nodes hold both at least in even shares per thread.
    3. In a node, threads go to the slot with the least CPU load. Where the topology fixes the
       workers, only the cluster's first so many slots are used.

    4. Independent parts are packed one after the other, each onto a node or into a rack if one has
       room: the nodes in the order of `Parts.steps`.
    5. Profiles without transfer costs leave nothing to save, so that Equation 6 looks at the fit
       only. `tuple_saving` counts every tuple/s that stays on its node as so much CPU saved; with
       1, traffic comes first and the fit second.

    Threads of an operator are alike, so operators are compared, not threads: those with a neighbour
    on the open node each, the others by a tree that is searched only where one could be better.
    A placement touches only its operator's neighbours.
    O(threads · (neighbours on the node + log operators)) as a rule; at worst all are compared.
    """

    name: ClassVar[str] = "p-deployer"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"node-cpu", "node-memory"})

    saving_weight: float = 1.0
    """a_r of Equation 6."""
    tuple_saving: float = 0.0
    """CPU (slots) that a tuple/s kept on its node counts as saved, beside its transfer costs."""

    def __post_init__(self) -> None:
        valid = math.isfinite(self.tuple_saving) and self.tuple_saving >= 0
        check_option("tuple_saving", self.tuple_saving, valid, "a number ≥ 0")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        topology, allocation, cluster = problem.topology, problem.allocation, problem.cluster
        workers = worker_slots(self.name, topology, cluster)
        if isinstance(workers, Refusal):
            return workers
        usable = cluster.first(len(workers))
        tasks = Tasks.of(topology, allocation, problem.stream_rates)
        parts = Parts.of(topology, allocation)
        cpu_left = np.add.reduceat(usable.slot_cpu, usable.first_slot[:-1])
        mem_left = np.add.reduceat(usable.slot_memory, usable.first_slot[:-1])
        nodes = self._pack(tasks, parts, allocation, usable.node_rack, cpu_left, mem_left)
        if nodes.min() < 0:
            return self._refusal(topology, allocation, tasks, nodes, cpu_left, mem_left)
        slots = shared_evenly(nodes, allocation.thread_cpu, np.arange(usable.slots), usable)
        machines = len(np.unique(nodes))
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            slots,
            (
                f"packed onto {machines} of {counted(len(cluster.nodes), 'machine')}",
                *parts.reasons(),
            ),
        )

    def _pack(
        self,
        tasks: Tasks,
        parts: Parts,
        allocation: Allocation,
        rack: Ints,
        cpu_left: Floats,
        mem_left: Floats,
    ) -> Ints:
        """Each thread's node, -1 where none had room; what the nodes have left is updated."""
        nodes = np.full(allocation.total_threads, -1, dtype=np.int64)
        cpu_size, mem_size = cpu_left.copy(), mem_left.copy()
        by_need = np.lexsort((-tasks.mem, -tasks.cpu))
        for turn in range(len(parts)):
            order: Ints = by_need[parts.turn[by_need] == turn]
            mean_cpu, mean_mem = (
                float(np.average(need[order], weights=allocation.threads[order]))
                for need in (tasks.cpu, tasks.mem)
            )
            weights = np.array([self.saving_weight, mean_cpu, mean_mem, self.tuple_saving])
            sequence, _ = parts.steps(turn, cpu_left, mem_left, rack)
            _pack(
                *(tasks.cpu, tasks.mem, tasks.transfer_cpu),
                *(tasks.first, tasks.neighbours, tasks.rates),
                weights,
                *(order, allocation.first_thread, sequence),
                *(cpu_size, mem_size, cpu_left, mem_left),
                nodes,
            )
        return nodes

    def _refusal(
        self,
        topology: Topology,
        allocation: Allocation,
        tasks: Tasks,
        nodes: Ints,
        cpu_left: Floats,
        mem_left: Floats,
    ) -> Refusal:
        unplaced = allocation.thread_operator[nodes < 0]
        operator = int(unplaced[0])
        cpu, mem = float(tasks.cpu[operator]), float(tasks.mem[operator])
        resource, missing = shortfall(cpu, mem, cpu_left, mem_left)
        name = topology.operators[operator].name
        return Refusal(
            self.name,
            f"no room for {counted(len(unplaced), 'thread')} on any of "
            f"{counted(len(cpu_left), 'machine')}; one of '{name}' "
            f"needs {cpu:.4g} cpu and {mem:.4g} memory, the machine that comes closest lacks "
            f"{missing:.4g} {resource}",
            name,
            resource,
            missing,
            # With the workers fixed, more slots would stay empty.
            final=topology.workers is not None,
        )


@dataclass(frozen=True)
class Tasks:
    """Per operator, what one of its threads needs, and whom it exchanges tuples with."""

    cpu: Floats
    """With every other thread on another node."""
    mem: Floats
    transfer_cpu: Floats
    first: Ints
    """Operator o's neighbours are at first[o] … first[o+1]-1 in the two lists below."""
    neighbours: Ints
    rates: Floats
    """Tuples/s between one thread of the operator and one of the neighbour, both ways."""

    @staticmethod
    def of(topology: Topology, allocation: Allocation, stream_rates: Floats) -> Tasks:
        threads = allocation.threads
        transfer = np.array([entry.transfer_cpu for entry in allocation])
        source, target = np.array(topology.edges, dtype=np.int64).reshape(-1, 2).T
        rate = stream_rates / (threads[source] * threads[target])
        # A thread's tuples to itself, in a loop of one operator, never travel.
        others = np.stack((threads[target], threads[source])) - (source == target)
        one, other = np.concatenate((source, target)), np.concatenate((target, source))
        both_ways = np.concatenate((rate, rate))
        remote = np.bincount(one, both_ways * others.ravel(), len(threads))
        by_operator = np.argsort(one, kind="stable")
        return Tasks(
            np.array([entry.cpu / entry.threads for entry in allocation]) + remote * transfer,
            np.array([entry.mem / entry.threads for entry in allocation]),
            transfer,
            np.searchsorted(one[by_operator], np.arange(len(threads) + 1)),
            other[by_operator],
            both_ways[by_operator],
        )


@njit(cache=True)
def _pack(
    cpu: Floats,
    mem: Floats,
    transfer_cpu: Floats,
    first: Ints,
    neighbours: Ints,
    rates: Floats,
    weights: Floats,
    order: Ints,
    first_thread: Ints,
    sequence: Ints,
    cpu_sizes: Floats,
    mem_sizes: Floats,
    cpu_left: Floats,
    mem_left: Floats,
    nodes: Ints,
) -> None:
    """Pack one part. `order`: its operators by falling cpu, then memory, then as declared;
    `sequence`: the nodes in the order in which they are opened. Changes the last three.
    """
    next_thread = first_thread[:-1].copy()
    most_mem = np.full(2 * _power_of_two(len(order)), -np.inf)
    local_rate = np.zeros(len(cpu))  # per operator, tuples/s a thread would exchange on the node
    spared = np.zeros(len(cpu))  # and CPU that its neighbours there would stop paying
    position = np.empty(len(cpu), np.int64)
    unplaced = 0
    for at in range(len(order)):
        position[order[at]] = at
        _set_leaf(most_mem, at, mem[order[at]])
        unplaced += first_thread[order[at] + 1] - first_thread[order[at]]
    is_near = np.zeros(len(cpu), np.bool_)
    near = np.empty(len(order), np.int64)  # the operators with a neighbour on the node
    for node in sequence:
        if unplaced == 0:
            break
        cpu_size, mem_size = cpu_sizes[node], mem_sizes[node]
        near_count = 0
        while True:
            best, best_priority, best_rate = -1, -np.inf, 0.0
            for n in range(near_count):
                o = near[n]
                own = transfer_cpu[o] * local_rate[o]
                need = cpu[o] - own
                if (
                    next_thread[o] < first_thread[o + 1]
                    and need - spared[o] <= cpu_left[node] + TOLERANCE / 2
                    and mem[o] <= mem_left[node] + TOLERANCE / 2
                ):
                    saving = own + spared[o] + weights[3] * local_rate[o]
                    p = weights[0] * (saving / cpu_size) - _misfit(
                        *(need, mem[o], cpu_left[node], mem_left[node]),
                        *(cpu_size, mem_size, weights),
                    )
                    if _precedes(p, local_rate[o], o, best_priority, best_rate, best):
                        best, best_priority, best_rate = o, p, local_rate[o]
            best = _best_fit(
                *(most_mem, order, cpu, mem, best, best_priority, best_rate),
                *(cpu_left[node], mem_left[node], cpu_size, mem_size, weights),
            )
            if best < 0:
                break
            nodes[next_thread[best]] = node
            next_thread[best] += 1
            unplaced -= 1
            cpu_left[node] -= cpu[best] - transfer_cpu[best] * local_rate[best] - spared[best]
            mem_left[node] -= mem[best]
            if next_thread[best] == first_thread[best + 1]:
                _set_leaf(most_mem, position[best], -np.inf)
            for link in range(first[best], first[best + 1]):
                o = neighbours[link]
                local_rate[o] += rates[link]
                spared[o] += rates[link] * transfer_cpu[best]
                if not is_near[o]:
                    is_near[o] = True
                    _set_leaf(most_mem, position[o], -np.inf)
                    near[near_count] = o
                    near_count += 1
        for n in range(near_count):
            o = near[n]
            is_near[o], local_rate[o], spared[o] = False, 0.0, 0.0
            if next_thread[o] < first_thread[o + 1]:
                _set_leaf(most_mem, position[o], mem[o])


@njit(cache=True)
def _precedes(
    priority: float, rate: float, operator: int, best: float, best_rate: float, best_operator: int
) -> bool:
    """Whether an operator comes before the best so far: by priority, by what it exchanges with the
    node, as declared.
    """
    if priority != best:
        return priority > best
    return rate > best_rate or (rate == best_rate and operator < best_operator)


@njit(cache=True)
def _misfit(
    need: float,
    mem: float,
    cpu_left: float,
    mem_left: float,
    cpu_size: float,
    mem_size: float,
    weights: Floats,
) -> float:
    """The two squares of Equation 6, weighted, in units of the node's size."""
    cpu_gap = (need - cpu_left) / cpu_size
    mem_gap = (mem - mem_left) / mem_size
    cpu_term: float = weights[1] / cpu_size * cpu_gap * cpu_gap
    mem_term: float = weights[2] / mem_size * mem_gap * mem_gap
    return cpu_term + mem_term


@njit(cache=True)
def _best_fit(
    most_mem: Floats,
    order: Ints,
    cpu: Floats,
    mem: Floats,
    best: int,
    best_priority: float,
    best_rate: float,
    cpu_left: float,
    mem_left: float,
    cpu_size: float,
    mem_size: float,
    weights: Floats,
) -> int:
    """The best of the operator given and those in the tree, which exchange nothing with the node.

    `most_mem` is a tree over the positions in `order`: leaves hold the operators' memory, -inf for
    those that take no part, every other node the larger of its children 2n and 2n+1. Operators
    below a node need at most the cpu of its first one (those that do not fit left out) and its
    memory: if one so large would not fit better than the best so far, none of them does.
    """
    leaves = len(most_mem) // 2
    fitting = _first_fitting(cpu, order, cpu_left + TOLERANCE / 2)
    stack = np.empty(64, np.int64)
    firsts = np.empty(64, np.int64)
    widths = np.empty(64, np.int64)
    stack[0], firsts[0], widths[0] = 1, 0, leaves
    depth = 1 if fitting < len(order) else 0
    while depth:
        depth -= 1
        n, start, width = stack[depth], firsts[depth], widths[depth]
        if most_mem[n] == -np.inf or start + width <= fitting:
            continue
        o = order[max(start, fitting)]
        most = min(most_mem[n], mem_left)
        bound = -_misfit(cpu[o], most, cpu_left, mem_left, cpu_size, mem_size, weights)
        if bound < best_priority or (bound == best_priority and best_rate > 0):
            continue
        if width > 1:
            half = width // 2
            stack[depth], firsts[depth], widths[depth] = 2 * n + 1, start + half, half
            stack[depth + 1], firsts[depth + 1], widths[depth + 1] = 2 * n, start, half
            depth += 2
        elif mem[o] <= mem_left + TOLERANCE / 2:
            p = -_misfit(cpu[o], mem[o], cpu_left, mem_left, cpu_size, mem_size, weights)
            if _precedes(p, 0.0, o, best_priority, best_rate, best):
                best, best_priority, best_rate = o, p, 0.0
    return best


@njit(cache=True)
def _set_leaf(most_mem: Floats, at: int, value: float) -> None:
    n = len(most_mem) // 2 + at
    most_mem[n] = value
    while n > 1:
        n //= 2
        most_mem[n] = max(most_mem[2 * n], most_mem[2 * n + 1])


@njit(cache=True)
def _power_of_two(size: int) -> int:
    power = 1
    while power < size:
        power *= 2
    return power


@njit(cache=True)
def _first_fitting(cpu: Floats, order: Ints, most: float) -> int:
    """The first position in `order`, by falling cpu, with at most that cpu."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if cpu[order[middle]] > most:
            low = middle + 1
        else:
            high = middle
    return low
