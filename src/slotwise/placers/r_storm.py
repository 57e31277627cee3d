"""R-Storm: thread by thread to the nearest node, by what it has left and by network distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, counted
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._fit_trees import may_hold, new_first_tree, put_first, remove_first
from slotwise.placers._options import check_option
from slotwise.placers._parts import Parts
from slotwise.placers._shortfall import shortfall
from slotwise.placers.base import Guarantee, PlacementProblem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    Independent parts are placed one after the other, each on a node or in a rack if one has room
    (`Parts.steps`); the paper's rule then sees only the nodes of the steps so far, and starts from
    the first of them.

    Untouched nodes of one size and rack tie, so the first of each stands for all; the search is by
    branch and bound. About O(threads · (log nodes + slots a node) + nodes · sizes · racks).
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
            valid = math.isfinite(weight) and weight >= 0
            check_option(field.name, weight, valid, "a number ≥ 0")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        allocation, cluster = problem.allocation, problem.cluster
        parts = Parts.of(problem.topology, allocation)
        order, ends = _sweeps(problem.topology, allocation, parts)
        weights = np.array([self.cpu_weight, self.memory_weight, self.network_weight])
        room = _room(cluster)
        slots = np.full(allocation.total_threads, -1, dtype=np.int64)
        for turn, threads in enumerate(np.split(order, ends[:-1])):
            steps = parts.steps(turn, room.node_cpu, room.node_mem, cluster.node_rack)
            needs = allocation.thread_cpu[threads], allocation.thread_mem[threads]
            found = _place(*needs, weights, *steps, room)
            slots[threads] = found
            if found[-1] < 0:
                stuck = int(threads[np.argmin(found)])
                return self._refusal(allocation, cluster, stuck, room.node_cpu, room.slot_mem)
        used = len(np.unique(slots))
        reason = f"each thread on the nearest node that holds it; {counted(used, 'slot')} used"
        threads_each = tuple(allocation.threads.tolist())
        return Placement(self.name, threads_each, slots, (reason, *parts.reasons()))

    def _refusal(
        self,
        allocation: Allocation,
        cluster: Cluster,
        thread: int,
        node_cpu: Floats,
        slot_mem: Floats,
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


def _sweeps(topology: Topology, allocation: Allocation, parts: Parts) -> tuple[Ints, Ints]:
    """Threads in R-Storm's order, part by part, and where each part ends: thread n of every
    operator before thread n + 1 of any.
    """
    turn = np.argsort(topology.breadth_first_order)[allocation.thread_operator]
    sweep = np.arange(allocation.total_threads) - np.repeat(
        allocation.first_thread[:-1], allocation.threads
    )
    part = parts.turn[allocation.thread_operator]
    order = np.lexsort((turn, sweep, part))
    return order, parts.ends(part[order])


class _Room(NamedTuple):
    """What nodes and slots have left, as the kernels see it."""

    node_cpu: Floats
    node_mem: Floats
    roomiest: Floats
    """Per node, the memory left in its roomiest slot."""
    slot_mem: Floats
    first_slot: Ints
    node_rack: Ints
    kind: Ints
    """Per node, which others are like it while untouched: of the same size and in the same rack."""
    touched: NDArray[np.bool_]
    tree: Floats
    """A first tree of the nodes that may be used: CPU left, memory left in the roomiest slot, the
    lesser of both, and negated, so that maxima bound distances from below: CPU left, memory left.
    """


def _room(cluster: Cluster) -> _Room:
    first = cluster.first_slot[:-1]
    traits = (
        *(np.diff(cluster.first_slot), cluster.slot_cpu[first], cluster.slot_memory[first]),
        cluster.node_rack,
    )
    kind = np.unique(np.stack(traits, axis=1), axis=0, return_inverse=True)[1].ravel()
    return _Room(
        np.add.reduceat(cluster.slot_cpu, first),
        np.add.reduceat(cluster.slot_memory, first),
        np.maximum.reduceat(cluster.slot_memory, first),
        cluster.slot_memory.copy(),
        cluster.first_slot,
        cluster.node_rack,
        kind.astype(np.int64),
        np.zeros(len(first), dtype=np.bool_),
        new_first_tree(len(first), 5),
    )


# Kernels. Untouched nodes of one kind are equally far, so the first of each is in the tree for all;
# when it is used, the next one of its kind enters.


@njit(cache=True)
def _place(cpu, mem, weights, nodes, ends, room):  # type: ignore[no-untyped-def]
    """Each of a part's threads' slot; -1 for one that fits nowhere and those after it."""
    slots = np.full(len(cpu), -1)
    following = np.full(len(room.node_cpu), -1)
    last = np.full(room.kind.max() + 1, -1)
    opened, step, done = 0, 0, 0
    reference = nodes[0]
    while done < len(cpu):
        need = cpu[done], mem[done]
        node = _nearest(need, weights, reference, room)
        if node < 0:
            if step == len(ends):
                break
            _open(nodes[opened : ends[step]], following, last, room)
            opened, step = ends[step], step + 1
            continue
        slots[done] = _put(node, need, room)
        if not room.touched[node]:
            room.touched[node] = True
            if following[node] >= 0:
                _enter(following[node], room)
            else:
                last[room.kind[node]] = -1
        reference = node
        done += 1
    for node in nodes[:opened]:
        remove_first(room.tree, node)
    return slots


@njit(cache=True)
def _open(nodes, following, last, room):  # type: ignore[no-untyped-def]
    """Let these nodes be used: untouched ones wait behind the last one of their kind."""
    for node in nodes:
        kind = room.kind[node]
        if room.touched[node]:
            _enter(node, room)
            continue
        if last[kind] < 0:
            _enter(node, room)
        else:
            following[last[kind]] = node
        last[kind] = node


@njit(cache=True)
def _enter(node, room):  # type: ignore[no-untyped-def]
    """Set the node's figures in the tree."""
    cpu, mem, roomiest = room.node_cpu[node], room.node_mem[node], room.roomiest[node]
    put_first(room.tree, node, (cpu, roomiest, min(cpu, roomiest), -cpu, -mem))


@njit(cache=True)
def _put(node, need, room):  # type: ignore[no-untyped-def]
    """Charge the need to the node and to its first slot that holds it; return that slot."""
    cpu, mem = need
    slot = room.first_slot[node]
    while room.slot_mem[slot] < mem - TOLERANCE:
        slot += 1
    room.node_cpu[node] -= cpu
    room.node_mem[node] -= mem
    room.slot_mem[slot] -= mem
    room.roomiest[node] = room.slot_mem[room.first_slot[node] : room.first_slot[node + 1]].max()
    _enter(node, room)
    return slot


@njit(cache=True)
def _nearest(need, weights, reference, room):  # type: ignore[no-untyped-def]
    """The nearest node in the tree that holds the need, the lowest of equals; -1 if none does."""
    cpu, mem = need
    tree = room.tree
    size = len(tree) // 2
    best, least = -1, np.inf
    if tree[size + reference, 0] > -np.inf:
        best, least = _nearer(best, least, reference, need, weights, reference, room)
    stack = np.empty(128, dtype=np.int64)
    stack[0], height = 1, 1
    while height > 0:
        height -= 1
        at = stack[height]
        if not may_hold(tree[at], cpu, mem):
            continue
        bound = weights[0] * (max(-tree[at, 3], cpu) - cpu) ** 2
        bound += weights[1] * (max(-tree[at, 4], mem) - mem) ** 2
        if bound > least:
            continue
        if at >= size:
            best, least = _nearer(best, least, at - size, need, weights, reference, room)
        else:
            stack[height], stack[height + 1] = 2 * at + 1, 2 * at
            height += 2
    return best


@njit(cache=True)
def _nearer(best, least, node, need, weights, reference, room):  # type: ignore[no-untyped-def]
    """The nearer of the best node so far and this one, if this one holds the need; its distance."""
    cpu, mem = need
    if room.node_cpu[node] < cpu - TOLERANCE or room.roomiest[node] < mem - TOLERANCE:
        return best, least
    away = weights[0] * (cpu - room.node_cpu[node]) ** 2
    away += weights[1] * (mem - room.node_mem[node]) ** 2
    if node != reference:
        away += weights[2] * (0.5 if room.node_rack[node] == room.node_rack[reference] else 1.0)
    if away < least or (away == least and node < best):
        return node, away
    return best, least
