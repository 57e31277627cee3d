"""Slot-aware mapping: whole bundles into slots, so that each slot behaves as it was modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._base import Guarantee
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
from slotwise.placers._shortfall import shortfall


@dataclass(frozen=True)
class Sam:
    """Paper 1, section 7.3 (Algorithm SAM).

    Sweeps over the operators in topological order; each sweep places one bundle per operator, an
    operator's full bundles before its others. A full bundle takes an empty slot of its own, on
    the node used last if that has one, else on the next node, round the cluster. Any other bundle
    goes to the best-fit slot: the used one with the least (CPU left + memory left) that still
    holds it, and only if there is none, the best-fit empty one. Ties: the lowest slot.

    Keeps bundles whole and never exceeds a slot. Allocators that scale linearly give one-thread
    bundles, none of them full: those are best-fitted one by one. About O(bundles · log slots).
    """

    name: ClassVar[str] = "sam"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"slot-cpu", "slot-memory"})
    whole_bundles: ClassVar[bool] = True

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        bundles = BundleTable.of(allocation)
        fitted = fit(bundles, bundles.sweeps(topology), cluster)
        if fitted.unplaced is not None:
            return _refusal(self.name, allocation, bundles, cluster, fitted)
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            np.repeat(fitted.slots, bundles.threads),
            (_reason(bundles, fitted.slots),),
        )


@dataclass(frozen=True)
class BundleTable:
    """All bundles of an allocation as columns, in the order of their threads."""

    operator: NDArray[np.int64]
    threads: NDArray[np.int64]
    cpu: NDArray[np.float64]
    mem: NDArray[np.float64]
    full: NDArray[np.bool_]

    @classmethod
    def of(cls, allocation: Allocation) -> BundleTable:
        bundles = [bundle for entry in allocation for bundle in entry.bundles]
        return cls(
            np.repeat(np.arange(len(allocation.operators)), [len(e.bundles) for e in allocation]),
            np.array([bundle.threads for bundle in bundles], dtype=np.int64),
            np.array([bundle.cpu for bundle in bundles], dtype=np.float64),
            np.array([bundle.mem for bundle in bundles], dtype=np.float64),
            np.array([bundle.full for bundle in bundles], dtype=np.bool_),
        )

    def sweeps(self, topology: Topology) -> NDArray[np.int64]:
        """The bundles in SAM's order: the n-th of every operator before the n+1-th of any."""
        turn = np.argsort(topology.order)[self.operator]
        grouped = np.lexsort((~self.full, self.operator))
        starts = np.searchsorted(self.operator, self.operator)
        sweep = np.empty_like(grouped)
        # `grouped` permutes within operators only, so position minus start is the sweep.
        sweep[grouped] = np.arange(len(grouped)) - starts
        return np.lexsort((turn, sweep))


@dataclass(frozen=True)
class Fitted:
    """Each bundle's slot, and what every slot has left, until a bundle fitted nowhere."""

    slots: NDArray[np.int64]
    cpu_left: NDArray[np.float64]
    mem_left: NDArray[np.float64]
    empty: NDArray[np.bool_]
    unplaced: int | None


def fit(bundles: BundleTable, order: NDArray[np.int64], cluster: Cluster) -> Fitted:
    """Place bundles in the given order by SAM's two rules; stop at the first that does not fit."""
    slots = np.full(len(order), -1, dtype=np.int64)
    cpu_left, mem_left = cluster.slot_cpu.copy(), cluster.slot_memory.copy()
    next_empty = cluster.first_slot[:-1].copy()
    placed = _fit(
        *(bundles.cpu, bundles.mem, bundles.full, order, _least_to_come(bundles, order)),
        *(cluster.first_slot, cluster.slot_node, cpu_left, mem_left, next_empty, slots),
    )
    empty = np.arange(cluster.slots) >= next_empty[cluster.slot_node]
    unplaced = int(order[placed]) if placed < len(order) else None
    return Fitted(slots, cpu_left, mem_left, empty, unplaced)


def _least_to_come(bundles: BundleTable, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per position in the order, the least CPU and memory that a later bundle not full needs."""
    needs = np.where(bundles.full, np.inf, np.stack((bundles.cpu, bundles.mem)))[:, order]
    later = np.append(needs[:, 1:], np.full((2, 1), np.inf), axis=1)
    return np.ascontiguousarray(np.minimum.accumulate(later[:, ::-1], axis=1)[:, ::-1])


def too_big(
    algorithm: str, allocation: Allocation, bundles: BundleTable, cluster: Cluster
) -> Refusal | None:
    """A final refusal if some bundle fits in no slot of the cluster even when it is empty."""
    for cpu, mem in np.unique(np.stack((bundles.cpu, bundles.mem), axis=1), axis=0).tolist():
        resource, missing = shortfall(cpu, mem, cluster.slot_cpu, cluster.slot_memory)
        if missing > TOLERANCE:
            bundle = int(np.flatnonzero((bundles.cpu == cpu) & (bundles.mem == mem))[0])
            return Refusal(
                algorithm,
                f"{_named(allocation, bundles, bundle)}: no slot of the cluster is that large, "
                f"even empty; {missing:.4g} {resource} is missing",
                allocation.operators[bundles.operator[bundle]].operator,
                resource,
                missing,
                final=True,
            )
    return None


def _refusal(
    algorithm: str, allocation: Allocation, bundles: BundleTable, cluster: Cluster, fitted: Fitted
) -> Refusal:
    if refusal := too_big(algorithm, allocation, bundles, cluster):
        return refusal
    assert fitted.unplaced is not None
    bundle = fitted.unplaced
    operator = allocation.operators[bundles.operator[bundle]].operator
    named = _named(allocation, bundles, bundle)
    candidates = fitted.empty if bundles.full[bundle] else np.ones_like(fitted.empty)
    if not candidates.any():
        explanation = f"{named}, and none of the {cluster.slots} slots is empty"
        return Refusal(algorithm, explanation, operator, "slots", 1.0)
    resource, missing = shortfall(
        float(bundles.cpu[bundle]),
        float(bundles.mem[bundle]),
        fitted.cpu_left[candidates],
        fitted.mem_left[candidates],
    )
    explanation = (
        f"{named}; the slot that comes closest to holding it lacks {missing:.4g} {resource}"
    )
    return Refusal(algorithm, explanation, operator, resource, missing)


def _named(allocation: Allocation, bundles: BundleTable, bundle: int) -> str:
    operator = allocation.operators[bundles.operator[bundle]].operator
    kind = "a slot of its own with" if bundles.full[bundle] else "a slot with"
    return (
        f"{bundles.threads[bundle]} threads of '{operator}' need {kind} "
        f"{bundles.cpu[bundle]:.4g} cpu and {bundles.mem[bundle]:.4g} memory"
    )


def _reason(bundles: BundleTable, slots: NDArray[np.int64]) -> str:
    alone, rest = int(bundles.full.sum()), int((~bundles.full).sum())
    shared = len(np.unique(slots[~bundles.full]))
    parts = [
        f"{alone} full bundle{'s have a slot each' if alone > 1 else ' has a slot to itself'}",
        f"{rest} partial bundle{'s are' if rest > 1 else ' is'} in {shared} slot"
        f"{'s'[: shared > 1]}",
    ]
    return "; ".join(part for part, number in zip(parts, (alone, rest), strict=True) if number)


@njit(cache=True)
def _fit(  # type: ignore[no-untyped-def]
    cpu, mem, full, order, least, first_slot, slot_node, cpu_left, mem_left, next_empty, slots
):
    """Place bundles in order; return how many were placed. Changes the last four arrays.

    A node's slots are opened from the first on, so its empty ones are those from `next_empty`.
    """
    nodes = len(first_slot) - 1
    empty_in_order, empty_by_size = new_first_tree(nodes, 3), new_best_tree(nodes)
    used, used_root, empty_root = new_best_tree(len(slot_node)), NONE, NONE
    for node in range(nodes):
        of_slot = cpu_left[first_slot[node]], mem_left[first_slot[node]]
        put_first(empty_in_order, node, (*of_slot, min(of_slot)))
        empty_root = put_best(empty_by_size, empty_root, node, *of_slot)
    last = 0
    for done in range(len(order)):
        bundle = order[done]
        need = cpu[bundle], mem[bundle]
        slot = NONE if full[bundle] else best_fit(used, used_root, *need)
        if slot != NONE:
            used_root = take_best(used, used_root, slot)
        else:
            if full[bundle]:
                node = first_fit(empty_in_order, last, *need)
            else:
                node = best_fit(empty_by_size, empty_root, *need)
            if node == NONE:
                return done
            slot = next_empty[node]
            next_empty[node] += 1
            if next_empty[node] == first_slot[node + 1]:
                remove_first(empty_in_order, node)
                empty_root = take_best(empty_by_size, empty_root, node)
        if full[bundle]:
            cpu_left[slot] = mem_left[slot] = 0.0
        else:
            cpu_left[slot] -= cpu[bundle]
            mem_left[slot] -= mem[bundle]
            # A slot too full for whatever comes is not searched again: the tree stays small.
            if (
                cpu_left[slot] >= least[0, done] - TOLERANCE
                and mem_left[slot] >= least[1, done] - TOLERANCE
            ):
                used_root = put_best(used, used_root, slot, cpu_left[slot], mem_left[slot])
        slots[bundle] = slot
        last = slot_node[slot]
    return len(order)
