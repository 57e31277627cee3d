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
from slotwise.placers._fit_trees import may_hold, new_first_tree, put_first
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

    Untouched nodes of one size tie but for their rack, so two of each size are looked at; the nodes
    in use are searched by branch and bound. About O(threads · (sizes + log nodes + slots a node)).
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
            np.array([self.cpu_weight, self.memory_weight, self.network_weight]),
            *(cluster.first_slot, cluster.node_rack, _groups(cluster)),
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


def _groups(cluster: Cluster) -> tuple[NDArray[np.int64], ...]:
    """Nodes grouped by the size and number of their slots, and again by that and their rack.

    The nodes ranked by size and where each size begins (one more entry at the end), then the same
    by size and rack: kind = size · racks + rack.
    """
    first = cluster.first_slot[:-1]
    traits = (np.diff(cluster.first_slot), cluster.slot_cpu[first], cluster.slot_memory[first])
    distinct, inverse = np.unique(np.stack(traits, axis=1), axis=0, return_inverse=True)
    size = inverse.ravel()
    racks = int(cluster.node_rack.max()) + 1
    kind = size * racks + cluster.node_rack
    return *_ranked(size, len(distinct)), *_ranked(kind, len(distinct) * racks)


def _ranked(group: NDArray[np.int64], groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes by group, in order within a group, and where each group begins."""
    ranked = np.argsort(group, kind="stable")
    return ranked, np.searchsorted(group[ranked], np.arange(groups + 1))


# Kernels. The nodes in use are in a first tree: CPU left, memory left in the roomiest slot, the
# lesser of both, and negated, so that maxima bound distances from below: CPU left, memory left.
# Untouched nodes of one size are equally far but for their rack, so of each size the first one, and
# the first one in the reference's rack, stand for all.


@njit(cache=True)
def _place(  # type: ignore[no-untyped-def]
    cpu, mem, order, weights, first_slot, node_rack, groups, node_cpu, slot_mem, slots
):
    """Place threads in order; return how many were placed. Changes the last three arrays."""
    by_size, size_start, by_kind, kind_start = groups
    racks = (len(kind_start) - 1) // (len(size_start) - 1)
    of_size, of_kind = size_start[:-1].copy(), kind_start[:-1].copy()
    touched = np.zeros(len(node_cpu), dtype=np.bool_)
    in_use = new_first_tree(len(node_cpu), 5)
    node_mem, roomiest = _memory_by_node(first_slot, slot_mem)
    state = (node_cpu, node_mem, roomiest, node_rack)
    reference = 0
    for done in range(len(order)):
        thread = order[done]
        need = (cpu[thread], mem[thread])
        nearest = _nearer((-1, np.inf), reference, need, weights, reference, state)
        for size in range(len(of_size)):
            kind = size * racks + node_rack[reference]
            for node in (
                _first_untouched(by_size, size_start, of_size, size, touched),
                _first_untouched(by_kind, kind_start, of_kind, kind, touched),
            ):
                if node >= 0:
                    nearest = _nearer(nearest, node, need, weights, reference, state)
        node = _nearest(in_use, nearest, need, weights, reference, state)
        if node < 0:
            return done
        touched[node] = True
        slot = first_slot[node]
        while slot_mem[slot] < mem[thread] - TOLERANCE:
            slot += 1
        slots[thread] = slot
        node_cpu[node] -= cpu[thread]
        node_mem[node] -= mem[thread]
        slot_mem[slot] -= mem[thread]
        roomiest[node] = slot_mem[first_slot[node] : first_slot[node + 1]].max()
        lesser = min(node_cpu[node], roomiest[node])
        figures = (node_cpu[node], roomiest[node], lesser, -node_cpu[node], -node_mem[node])
        put_first(in_use, node, figures)
        reference = node
    return len(order)


@njit(cache=True)
def _first_untouched(ranked, start, positions, group, touched):  # type: ignore[no-untyped-def]
    """The group's first node that was never used; -1 if all were. Moves the group's position."""
    position = positions[group]
    while position < start[group + 1] and touched[ranked[position]]:
        position += 1
    positions[group] = position
    return ranked[position] if position < start[group + 1] else -1


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
def _nearer(best, node, need, weights, reference, state):  # type: ignore[no-untyped-def]
    """The nearer of the best (node, distance) so far and this node, if the node holds the need."""
    cpu, mem = need
    node_cpu, node_mem, roomiest, node_rack = state
    if node_cpu[node] < cpu - TOLERANCE or roomiest[node] < mem - TOLERANCE:
        return best
    away = weights[0] * (cpu - node_cpu[node]) ** 2 + weights[1] * (mem - node_mem[node]) ** 2
    if node != reference:
        away += weights[2] * (0.5 if node_rack[node] == node_rack[reference] else 1.0)
    if away < best[1] or (away == best[1] and node < best[0]):
        return node, away
    return best


@njit(cache=True)
def _nearest(tree, best, need, weights, reference, state):  # type: ignore[no-untyped-def]
    """The nearest of the best so far and all nodes in the tree that hold the need; -1 if none."""
    cpu, mem = need
    size = len(tree) // 2
    stack = np.empty(128, dtype=np.int64)
    stack[0], height = 1, 1
    while height > 0:
        height -= 1
        at = stack[height]
        if not may_hold(tree[at], cpu, mem):
            continue
        bound = weights[0] * (max(-tree[at, 3], cpu) - cpu) ** 2
        bound += weights[1] * (max(-tree[at, 4], mem) - mem) ** 2
        if bound > best[1]:
            continue
        if at >= size:
            best = _nearer(best, at - size, need, weights, reference, state)
        else:
            stack[height], stack[height + 1] = 2 * at + 1, 2 * at
            height += 2
    return best[0]
