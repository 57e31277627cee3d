"""Whole bundles into slots, one after the other: full ones alone, the others by best fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Cluster
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._bundles import BundleTable
from slotwise.placers._fit_trees import (
    NONE,
    best_fit,
    first_fit,
    new_best_tree,
    new_first_tree,
    put_best,
    put_first,
    remove_first,
    take_best,
)
from slotwise.placers._parts import Parts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BestTree = tuple[Ints, Floats]


@dataclass(frozen=True)
class Fitted:
    """Each bundle's slot, and what every slot has left, until a bundle fitted nowhere."""

    slots: Ints
    cpu_left: Floats
    mem_left: Floats
    empty: NDArray[np.bool_]
    unplaced: int | None


def fit(bundles: BundleTable, order: Ints, parts: Parts, cluster: Cluster) -> Fitted:
    """Place bundles in the given order by SAM's two rules; stop at the first that does not fit.

    The order has one part after the other, and each takes nodes step by step (`Parts.steps`).
    O(bundles · log slots), and for each part but the first O(slots) at most.
    """
    slots = np.full(len(order), -1, dtype=np.int64)
    room = _room(cluster)
    least = _least_to_come(bundles, order)
    done = 0
    for turn, end in enumerate(parts.ends(parts.turn[bundles.operator[order]]).tolist()):
        cpu_left, mem_left = (
            np.add.reduceat(left, cluster.first_slot[:-1]) for left in (room.cpu, room.mem)
        )
        steps = parts.steps(turn, cpu_left, mem_left, cluster.node_rack)
        needs = bundles.cpu, bundles.mem, bundles.full
        done = _fit(*needs, order[:end], done, least, *steps, room, slots)
        if done < end:
            break
    empty = np.arange(cluster.slots) >= room.next_empty[cluster.slot_node]
    unplaced = int(order[done]) if done < len(order) else None
    return Fitted(slots, room.cpu, room.mem, empty, unplaced)


def _least_to_come(bundles: BundleTable, order: Ints) -> Floats:
    """Per position in the order, the least CPU and memory that a bundle from there on needs, full
    ones left out; one more entry at the end.
    """
    needs = np.where(bundles.full, np.inf, np.stack((bundles.cpu, bundles.mem)))[:, order]
    needs = np.append(needs, np.full((2, 1), np.inf), axis=1)
    return np.ascontiguousarray(np.minimum.accumulate(needs[:, ::-1], axis=1)[:, ::-1])


class _Room(NamedTuple):
    """What slots have left, as the kernels see it."""

    cpu: Floats
    mem: Floats
    next_empty: Ints
    """Per node, its first empty slot: a node's slots are opened in order, so those after it are
    empty as well.
    """
    closed: NDArray[np.bool_]
    """Per slot, whether a full bundle has it to itself."""
    first_slot: Ints
    slot_node: Ints
    empty_in_order: Floats
    """A first tree of the nodes with an empty slot."""
    empty_by_size: BestTree
    """A best tree of the same nodes."""
    used: BestTree
    """A best tree of the slots in use that something to come may fit in."""


def _room(cluster: Cluster) -> _Room:
    nodes = len(cluster.nodes)
    return _Room(
        cluster.slot_cpu.copy(),
        cluster.slot_memory.copy(),
        cluster.first_slot[:-1].copy(),
        np.zeros(cluster.slots, dtype=np.bool_),
        cluster.first_slot,
        cluster.slot_node,
        new_first_tree(nodes, 3),
        new_best_tree(nodes),
        new_best_tree(cluster.slots),
    )


@njit(cache=True)
def _fit(  # type: ignore[no-untyped-def]
    cpu, mem, full, order, done, least, nodes, ends, room, slots
):
    """Place bundles from position `done` of the order on; return the first position not placed.

    Changes `room` and `slots`. Both best trees are empty at first: their roots are NONE.
    """
    used, empty = NONE, NONE
    opened, step = 0, 0
    last = nodes[0]
    while done < len(order):
        bundle = order[done]
        need = cpu[bundle], mem[bundle]
        slot = NONE if full[bundle] else best_fit(room.used, used, *need)
        if slot != NONE:
            used = take_best(room.used, used, slot)
        else:
            if full[bundle]:
                node = first_fit(room.empty_in_order, last, *need)
            else:
                node = best_fit(room.empty_by_size, empty, *need)
            if node == NONE:
                if step == len(ends):
                    break
                used, empty = _open(nodes[opened : ends[step]], least[:, done], used, empty, room)
                opened, step = ends[step], step + 1
                continue
            slot = room.next_empty[node]
            room.next_empty[node] += 1
            if room.next_empty[node] == room.first_slot[node + 1]:
                remove_first(room.empty_in_order, node)
                empty = take_best(room.empty_by_size, empty, node)
        room.closed[slot] = full[bundle]
        room.cpu[slot] = 0.0 if full[bundle] else room.cpu[slot] - cpu[bundle]
        room.mem[slot] = 0.0 if full[bundle] else room.mem[slot] - mem[bundle]
        used = _keep(slot, least[:, done + 1], used, room)
        slots[bundle] = slot
        last = room.slot_node[slot]
        done += 1
    for node in nodes[:opened]:
        remove_first(room.empty_in_order, node)
    return done


@njit(cache=True)
def _open(nodes, least, used, empty, room):  # type: ignore[no-untyped-def]
    """Let the slots of these nodes be used; return the new roots of both best trees."""
    for node in nodes:
        first_empty = room.next_empty[node]
        for slot in range(room.first_slot[node], first_empty):
            used = _keep(slot, least, used, room)
        if first_empty < room.first_slot[node + 1]:
            of_slot = room.cpu[first_empty], room.mem[first_empty]
            put_first(room.empty_in_order, node, (*of_slot, min(of_slot)))
            empty = put_best(room.empty_by_size, empty, node, *of_slot)
    return used, empty


@njit(cache=True)
def _keep(slot, least, used, room):  # type: ignore[no-untyped-def]
    """Add a slot in use to its tree, unless it is closed; return the new root. One too full for
    whatever comes is not added either, so that the tree stays small.
    """
    cpu, mem = room.cpu[slot], room.mem[slot]
    if not room.closed[slot] and cpu >= least[0] - TOLERANCE and mem >= least[1] - TOLERANCE:
        return put_best(room.used, used, slot, cpu, mem)
    return used
