"""R-Storm: thread by thread to the nearest node, by what it has left and by network distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._base import Guarantee
from slotwise.placers._shortfall import shortfall


@dataclass(frozen=True)
class RStorm:
    """Paper 1, section 7.2 (RSM, after Peng et al.'s R-Storm).

    Sweeps over the operators breadth first from the sources, one thread of each per sweep. A
    thread goes to the node, among those it fits on, with the least distance

        cpu_weight · (need − left)² + memory_weight · (need − left)² + network_weight · net

    where net is 0 on the node used last (at first node 0), 0.5 in its rack and 1 elsewhere (the
    paper's figures are lost). Ties: the lowest node. It fits if the *node* has the CPU and one of
    its *slots* the memory; it takes the first such slot. So nodes are never over capacity, slots
    never over their memory, but a slot may be over its CPU. Needs are even shares of what the
    operator is charged.

    Untouched nodes alike in size and rack tie, so one of each kind is looked at, besides the
    nodes in use that can still hold the least demanding thread: O(threads · such nodes).
    """

    name: ClassVar[str] = "r-storm"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset(
        {"node-cpu", "node-memory", "slot-memory"}
    )

    cpu_weight: float = 1.0
    memory_weight: float = 1.0
    network_weight: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            weight = getattr(self, field.name)
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"{field.name} is {weight}: write 0 or more")

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        slots = np.full(allocation.total_threads, -1, dtype=np.int64)
        node_cpu = np.add.reduceat(cluster.slot_cpu, cluster.first_slot[:-1])
        slot_mem = cluster.slot_memory.copy()
        order = _sweeps(topology, allocation)
        placed = _place(
            *(allocation.thread_cpu, allocation.thread_mem, order),
            _least_to_come(allocation, order),
            np.array([self.cpu_weight, self.memory_weight, self.network_weight]),
            *(cluster.first_slot, cluster.node_rack, _kinds(cluster)),
            *(node_cpu, slot_mem, slots),
        )
        if placed < len(order):
            return self._refusal(allocation, cluster, int(order[placed]), node_cpu, slot_mem)
        threads, used = tuple(allocation.threads.tolist()), len(np.unique(slots))
        reason = f"each thread on the nearest node that holds it; {used} slots used"
        return Placement(self.name, threads, slots, (reason,))

    def _refusal(
        self,
        allocation: Allocation,
        cluster: Cluster,
        thread: int,
        node_cpu: NDArray[np.float64],
        slot_mem: NDArray[np.float64],
    ) -> Refusal:
        operator = allocation.operators[allocation.thread_operator[thread]].operator
        cpu, mem = float(allocation.thread_cpu[thread]), float(allocation.thread_mem[thread])
        roomiest = np.maximum.reduceat(slot_mem, cluster.first_slot[:-1])
        resource, missing = shortfall(cpu, mem, node_cpu, roomiest)
        return Refusal(
            self.name,
            f"a thread of '{operator}' needs a node with {cpu:.4g} cpu and a slot with {mem:.4g} "
            f"memory; the node that comes closest lacks {missing:.4g} {resource}",
            operator,
            resource,
            missing,
            # A larger node may have the CPU; a slot of the kinds at hand never has more memory.
            final=mem > float(cluster.slot_memory.max()) + TOLERANCE,
        )


def _sweeps(topology: Topology, allocation: Allocation) -> NDArray[np.int64]:
    """Threads in R-Storm's order: thread n of every operator before thread n + 1 of any."""
    turn = np.argsort(topology.breadth_first_order)[allocation.thread_operator]
    sweep = np.arange(allocation.total_threads) - np.repeat(
        allocation.first_thread[:-1], allocation.threads
    )
    return np.lexsort((turn, sweep))


def _least_to_come(allocation: Allocation, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per position in the order, the least CPU and the least memory from there on."""
    needs = np.stack((allocation.thread_cpu, allocation.thread_mem))[:, order]
    return np.minimum.accumulate(needs[:, ::-1], axis=1)[:, ::-1]


def _kinds(cluster: Cluster) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Nodes sorted by what makes them alike when untouched, where each kind begins (one more
    entry at the end, the number of nodes), and each node's kind. Within a kind nodes keep order.
    """
    first = cluster.first_slot[:-1]
    traits = (
        *(cluster.node_rack.astype(np.float64), np.diff(cluster.first_slot).astype(np.float64)),
        *(cluster.slot_cpu[first], cluster.slot_memory[first]),
    )
    ranked = np.lexsort(traits)
    differs = np.any(np.diff(np.stack(traits)[:, ranked], axis=1) != 0, axis=0)
    kind_of = np.empty_like(ranked)
    kind_of[ranked] = np.concatenate(([0], np.cumsum(differs)))
    return ranked, np.concatenate(([0], np.flatnonzero(differs) + 1, [len(ranked)])), kind_of


# Kernels. `open_nodes` holds the nodes in use that can still take the least demanding thread to
# come; `untouched` points, per kind, at the first node of it that was never used.


@njit(cache=True)
def _place(  # type: ignore[no-untyped-def]
    cpu, mem, order, least, weights, first_slot, node_rack, kinds, node_cpu, slot_mem, slots
):
    """Place threads in order; return how many were placed. Changes the last three arrays."""
    ranked, kind_start, kind_of = kinds
    node_mem, roomiest = _memory_by_node(first_slot, slot_mem)
    untouched = kind_start[:-1].copy()
    open_nodes, used = np.zeros(len(node_cpu), dtype=np.int64), 1
    # Node 0 is the first reference, so it counts as in use; it leads its kind.
    untouched[kind_of[0]] += 1
    reference = 0
    for done in range(len(order)):
        thread = order[done]
        used = _forget(open_nodes, used, node_cpu, roomiest, least[0, done], least[1, done])
        known = used
        for kind in range(len(untouched)):
            if untouched[kind] < kind_start[kind + 1]:
                open_nodes[known] = ranked[untouched[kind]]
                known += 1
        need = (cpu[thread], mem[thread])
        state = (node_cpu, node_mem, roomiest, node_rack)
        chosen = _nearest(open_nodes[:known], need, weights, reference, state)
        if chosen < 0:
            return done
        node = open_nodes[chosen]
        if chosen >= used:
            untouched[kind_of[node]] += 1
            open_nodes[used] = node
            used += 1
        slot = first_slot[node]
        while slot_mem[slot] < mem[thread] - TOLERANCE:
            slot += 1
        slots[thread] = slot
        node_cpu[node] -= cpu[thread]
        node_mem[node] -= mem[thread]
        slot_mem[slot] -= mem[thread]
        roomiest[node] = slot_mem[first_slot[node] : first_slot[node + 1]].max()
        reference = node
    return len(order)


@njit(cache=True)
def _memory_by_node(first_slot, slot_mem):  # type: ignore[no-untyped-def]
    """Per node, the memory of all its slots and of its roomiest one."""
    nodes = len(first_slot) - 1
    total, roomiest = np.empty(nodes), np.empty(nodes)
    for node in range(nodes):
        of_node = slot_mem[first_slot[node] : first_slot[node + 1]]
        total[node], roomiest[node] = of_node.sum(), of_node.max()
    return total, roomiest


@njit(cache=True)
def _forget(open_nodes, used, node_cpu, roomiest, least_cpu, least_mem):  # type: ignore[no-untyped-def]
    """Drop the nodes that no thread to come fits on; return how many stay."""
    kept = 0
    for position in range(used):
        node = open_nodes[position]
        if node_cpu[node] >= least_cpu - TOLERANCE and roomiest[node] >= least_mem - TOLERANCE:
            open_nodes[kept] = node
            kept += 1
    return kept


@njit(cache=True)
def _nearest(candidates, need, weights, reference, state):  # type: ignore[no-untyped-def]
    """The position of the nearest candidate that holds the need; -1 if none does."""
    cpu, mem = need
    node_cpu, node_mem, roomiest, node_rack = state
    best, nearest, least = -1, -1, np.inf
    for position in range(len(candidates)):
        node = candidates[position]
        if node_cpu[node] < cpu - TOLERANCE or roomiest[node] < mem - TOLERANCE:
            continue
        away = weights[0] * (cpu - node_cpu[node]) ** 2 + weights[1] * (mem - node_mem[node]) ** 2
        if node != reference:
            away += weights[2] * (0.5 if node_rack[node] == node_rack[reference] else 1.0)
        if away < least or (away == least and node < nearest):
            best, nearest, least = position, node, away
    return best
