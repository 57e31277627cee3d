"""Paper 2's online scheduler: what exchanges most tuples shares a worker, and a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._base import Guarantee
from slotwise.placers._pairs import Pairs
from slotwise.placers._workers import worker_slots
from slotwise.placers.topology import check_share, most_threads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Links = NDArray[np.int32]
NO_OPTION = 3
"""A pair has at most three bins to choose from: 0, 1 and 2."""


@dataclass(frozen=True)
class TrafficBased:
    """Algorithm 1 of paper 2 (section 3.2.3), from measured traffic between threads where there is
    any, else derived from the streams.

    1. Pairs by falling traffic, both directions added. If neither is assigned, both go to the least
       loaded worker (if it has room for one only, the other to the next). Else all assignments of
       the two to the workers they are on and the least loaded one are tried, and the one that keeps
       most traffic inside workers is taken; at a tie they stay, or else the first tried.
    2. Threads without traffic then go to the least loaded worker, largest first.
    3. At most M(α) threads per worker (`most_threads`), and no more CPU than a slot has, or, if so
       not all find a worker, than the largest node has: the paper lets a worker grow past what any
       node can take beside others, and then finds no place for it.
    4. All min(workers, threads) workers are used: empty ones at the end get the threads that
       exchange least with their own worker.
    5. The same with workers onto nodes, where the limits are a node's slots and its CPU (speed ×
       slots). The least loaded node is the one with the smallest share of its CPU in use, so that
       unequal nodes compare. A worker left over goes to the node with the most CPU free.

    So nodes hold their CPU, but a slot may be over its own.
    O(pairs · neighbours of a thread + threads · log threads).
    """

    name: ClassVar[str] = "traffic"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"node-cpu"})

    alpha: float = 0.0
    """0: threads spread evenly over workers. 1: as many in one worker as the others can spare."""

    def __post_init__(self) -> None:
        check_share("alpha", self.alpha)

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        slots = worker_slots(self.name, topology, cluster)
        if isinstance(slots, Refusal):
            return slots
        threads = allocation.total_threads
        workers = min(len(slots), threads)
        most = most_threads(threads, workers, self.alpha)
        flows = traffic.between_threads(topology, allocation)
        pairs = Pairs.of(threads, flows.senders, flows.receivers, flows.rates)
        node_cpu = np.add.reduceat(cluster.slot_cpu, cluster.first_slot[:-1])
        limits = float(cluster.slot_cpu.max()), float(node_cpu.max()), np.inf
        worker = self._workers(pairs, allocation.thread_cpu, workers, most, limits)
        load = np.bincount(worker, allocation.thread_cpu, workers).astype(np.float64)
        one = np.repeat(worker, np.diff(pairs.first))
        # Every pair is there in both directions, so rates are halved.
        between = Pairs.of(workers, one, worker[pairs.neighbours], pairs.rates / 2)
        node = assign(between, load, np.diff(cluster.first_slot), node_cpu)
        if node.min() < 0:
            return self._refusal(topology, allocation, cluster, worker, load, node)
        reason = f"{workers} workers of at most {most} threads (α = {self.alpha:g})"
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            _slots_in_turn(node, cluster)[worker],
            (reason, "measured traffic" if traffic.measured else "traffic derived from streams"),
        )

    def _workers(
        self, pairs: Pairs, cpu: Floats, workers: int, most: int, limits: tuple[float, ...]
    ) -> Ints:
        """Workers within the first of the CPU `limits` under which every thread finds one."""
        if most == 1:
            return np.arange(len(cpu))  # a worker each: nothing to decide
        for limit in limits:
            worker = assign(pairs, cpu, np.full(workers, most), np.full(workers, limit))
            if worker.min() >= 0:
                break
        _use_all(worker, pairs, workers)
        return worker

    def _refusal(
        self,
        topology: Topology,
        allocation: Allocation,
        cluster: Cluster,
        worker: Ints,
        load: Floats,
        node: Ints,
    ) -> Refusal:
        stuck = int(np.argmin(node))
        placed, nodes = node >= 0, len(cluster.nodes)
        node_cpu = np.bincount(cluster.slot_node, cluster.slot_cpu)
        has_slot = np.bincount(node[placed], minlength=nodes) < np.diff(cluster.first_slot)
        free = (node_cpu - np.bincount(node[placed], load[placed], nodes))[has_slot]
        missing = round(float(load[stuck] - free.max()), 9)
        thread = int(np.argmax(worker == stuck))
        operator = topology.operators[allocation.thread_operator[thread]].name
        return Refusal(
            self.name,
            f"the worker with a thread of '{operator}' needs {load[stuck]:.4g} cpu; "
            f"the node with a slot and the most left, {free.max():.4g}, lacks {missing:.4g}",
            operator,
            "cpu",
            missing,
            # With the workers fixed, more slots make this one no smaller.
            final=topology.workers is not None and bool(load[stuck] > node_cpu.max() + TOLERANCE),
        )


def assign(pairs: Pairs, loads: Floats, room: Ints, capacity: Floats) -> Ints:
    """Each item's bin, -1 where none had the capacity left: rules 1 and 2 of TrafficBased.

    `room` is how many items a bin takes and `capacity` how much load; infinite means that the
    least load, not the least share of capacity, makes a bin the least loaded.
    """
    filling = _empty(loads, room, capacity)
    one, other = pairs.by_falling_rate()
    largest_first = np.argsort(-loads, kind="stable")
    _assign(one, other, pairs.first, pairs.neighbours, pairs.rates, largest_first, filling)
    return filling.bins


def _empty(loads: Floats, room: Ints, capacity: Floats) -> _Filling:
    """No item in any bin; room below the tree's width is filled up with bins that take none."""
    width = 1 << max(1, (len(room) - 1).bit_length())
    leaves = np.arange(width)
    winners = np.concatenate((leaves, leaves))
    for level in range(width.bit_length() - 1):
        # All bins are equally empty: the leftmost wins.
        winners[1 << level : 2 << level] = leaves[:: width >> level]
    key = np.full(width, np.inf)
    key[: len(room)] = 0.0
    return _Filling(
        loads=loads,
        room=room,
        capacity=capacity,
        scale=np.where(np.isinf(capacity), 1.0, capacity),
        bins=np.full(len(loads), -1, dtype=np.int64),
        held=np.zeros(len(room), dtype=np.int64),
        load=np.zeros(len(room)),
        key=key,
        winners=winners,
    )


def _use_all(worker: Ints, pairs: Pairs, workers: int) -> None:
    """Fill empty workers with threads that exchange least with their own, of workers with more."""
    count = np.bincount(worker, minlength=workers)
    empty = np.flatnonzero(count == 0).tolist()
    if not empty:
        return
    one = np.repeat(np.arange(len(worker)), np.diff(pairs.first))
    local = pairs.rates * (worker[one] == worker[pairs.neighbours])
    for thread in np.argsort(np.bincount(one, local, len(worker)), kind="stable"):
        if count[worker[thread]] > 1:
            count[worker[thread]] -= 1
            worker[thread] = empty.pop(0)
            if not empty:
                return


def _slots_in_turn(node: Ints, cluster: Cluster) -> Ints:
    """Each worker's slot: the workers of a node take its slots in order."""
    by_node = np.argsort(node, kind="stable")
    sizes = np.bincount(node, minlength=len(cluster.nodes))
    slots = np.empty_like(node)
    rank = np.arange(len(node)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slots[by_node] = cluster.first_slot[node[by_node]] + rank
    return slots


class _Filling(NamedTuple):
    """Items in bins, as the kernels see them."""

    loads: Floats
    room: Ints
    capacity: Floats
    scale: Floats
    bins: Ints
    """Per item, its bin or -1."""
    held: Ints
    """Per bin, its items."""
    load: Floats
    key: Floats
    """Per bin, its scaled load, infinite if it has no room."""
    winners: Ints
    """A tournament: the bin with the least key below each node of a tree, the root being 1."""


@njit(cache=True)
def _assign(
    one: Links,
    other: Links,
    first: Links,
    neighbours: Links,
    rates: Floats,
    largest_first: Ints,
    filling: _Filling,
) -> None:
    bins = filling.bins
    options = np.empty(3, np.int64)
    local = np.empty((2, NO_OPTION))
    # One more, last, for items in no bin: they are in bin -1.
    option_of = np.full(len(filling.room) + 1, NO_OPTION, np.int8)
    for pair in range(len(one)):
        j, k = one[pair], other[pair]
        if bins[j] < 0 and bins[k] < 0:
            _put_in_least(filling, j)
            if bins[j] >= 0 and _takes(filling, bins[j], k):
                _move(filling, k, bins[j])
            else:
                _put_in_least(filling, k)
            continue
        choices = _list_options(filling, j, k, options)
        for n in range(choices):
            option_of[options[n]] = n
        between = _local_rates(j, k, first, neighbours, rates, bins, option_of, local[0])
        _local_rates(k, j, first, neighbours, rates, bins, option_of, local[1])
        for n in range(choices):
            option_of[options[n]] = NO_OPTION
        best_j, best_k, best = bins[j], bins[k], -np.inf
        if best_j == best_k:
            best = local[0, 0] + local[1, 0] + between
        elif best_j >= 0 and best_k >= 0:
            best = local[0, 0] + local[1, 1]
        for a in range(choices):
            for b in range(choices):
                value = local[0, a] + local[1, b] + (between if a == b else 0.0)
                better = value > best + TOLERANCE * between
                if better and _both_fit(filling, j, k, options[a], options[b]):
                    best_j, best_k, best = options[a], options[b], value
        _move(filling, j, best_j)
        _move(filling, k, best_k)
    for item in largest_first:
        if bins[item] < 0:
            _put_in_least(filling, item)
        if bins[item] < 0:
            _move(filling, item, _roomiest(filling, item))


@njit(cache=True)
def _list_options(filling: _Filling, j: int, k: int, options: Ints) -> int:
    """The bins of the two items and the least loaded one, each once; how many they are."""
    size = 0
    for option in (filling.bins[j], filling.bins[k], _least(filling)):
        known = option < 0
        for n in range(size):
            known = known or options[n] == option
        if not known:
            options[size] = option
            size += 1
    return size


@njit(cache=True)
def _local_rates(
    item: int,
    partner: int,
    first: Links,
    neighbours: Links,
    rates: Floats,
    bins: Ints,
    option_of: NDArray[np.int8],
    local: Floats,
) -> float:
    """Tuples/s of the item with each option, its partner left out; those with the partner.

    `option_of` says which option a bin is.
    """
    local[:] = 0.0
    between = 0.0
    for link in range(first[item], first[item + 1]):
        option = option_of[bins[neighbours[link]]]
        if neighbours[link] == partner:
            between = rates[link]
        elif option < NO_OPTION:
            local[option] += rates[link]
    return between


@njit(cache=True)
def _both_fit(filling: _Filling, j: int, k: int, bin_j: int, bin_k: int) -> bool:
    for target in (bin_j, bin_k):
        count, load = filling.held[target], filling.load[target]
        for item, chosen in ((j, bin_j), (k, bin_k)):
            change = (chosen == target) - (filling.bins[item] == target)
            count += change
            load += change * filling.loads[item]
        if count > filling.room[target] or load > filling.capacity[target] + TOLERANCE / 2:
            return False
    return True


@njit(cache=True)
def _takes(filling: _Filling, target: int, item: int) -> bool:
    after: float = filling.load[target] + filling.loads[item]
    within = after <= filling.capacity[target] + TOLERANCE / 2
    return bool(filling.held[target] < filling.room[target] and within)


@njit(cache=True)
def _put_in_least(filling: _Filling, item: int) -> None:
    target = _least(filling)
    if target >= 0 and _takes(filling, target, item):
        _move(filling, item, target)


@njit(cache=True)
def _roomiest(filling: _Filling, item: int) -> int:
    """The bin with the most capacity left of those that take the item, or -1."""
    best = -1
    for target in range(len(filling.room)):
        left = filling.capacity[target] - filling.load[target]
        if _takes(filling, target, item) and (
            best < 0 or left > filling.capacity[best] - filling.load[best]
        ):
            best = target
    return best


@njit(cache=True)
def _move(filling: _Filling, item: int, target: int) -> None:
    """To another bin; -1 or its own: nothing happens."""
    before = filling.bins[item]
    if target < 0 or target == before:
        return
    if before >= 0:
        filling.held[before] -= 1
        filling.load[before] -= filling.loads[item]
        if filling.held[before] == 0:
            filling.load[before] = 0.0  # without the rounding of what came and went
        _update_key(filling, before)
    filling.bins[item] = target
    filling.held[target] += 1
    filling.load[target] += filling.loads[item]
    _update_key(filling, target)


@njit(cache=True)
def _least(filling: _Filling) -> int:
    """The least loaded bin with room for one more, the lowest of equals; -1 if there is none."""
    winner = filling.winners[1]
    return winner if filling.key[winner] < np.inf else -1


@njit(cache=True)
def _update_key(filling: _Filling, target: int) -> None:
    full = filling.held[target] >= filling.room[target]
    filling.key[target] = np.inf if full else filling.load[target] / filling.scale[target]
    node = (len(filling.winners) // 2 + target) // 2
    while node >= 1:
        left, right = filling.winners[2 * node], filling.winners[2 * node + 1]
        filling.winners[node] = right if filling.key[right] < filling.key[left] else left
        node //= 2
