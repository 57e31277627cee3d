"""Slot-aware mapping: whole bundles into slots, so that each slot behaves as it was modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, counted
from slotwise.placers._best_fit import Fitted, fit
from slotwise.placers._bundles import BundleTable, described, too_big
from slotwise.placers._parts import Parts
from slotwise.placers._shortfall import shortfall
from slotwise.placers.base import Guarantee, PlacementProblem


@dataclass(frozen=True)
class Sam:
    """Paper 1, section 7.3 (Algorithm SAM).

    Sweeps over the operators in topological order; each sweep places one bundle per operator, an
    operator's full bundles before its others. A full bundle takes an empty slot of its own, on
    the node used last if that has one, else on the next node, round the cluster. Any other bundle
    goes to the best-fit slot: the used one with the least (CPU left + memory left) that still
    holds it, and only if there is none, the best-fit empty one. Ties: the lowest slot.

    Independent parts are placed one after the other, each on a node or in a rack if one has room
    (`Parts.steps`); the rules then see only the slots of the steps so far.

    Keeps bundles whole and never exceeds a slot. Allocators that scale linearly give one-thread
    bundles, none of them full: those are best-fitted one by one. About O(bundles · log slots).
    """

    name: ClassVar[str] = "sam"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"slot-cpu", "slot-memory"})
    whole_bundles: ClassVar[bool] = True

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        allocation, cluster = problem.allocation, problem.cluster
        bundles = BundleTable.of(allocation)
        parts = Parts.of(problem.topology, allocation)
        fitted = fit(bundles, bundles.sweeps(problem.topology, parts), parts, cluster)
        if fitted.unplaced is not None:
            return _refusal(self.name, allocation, bundles, cluster, fitted)
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            np.repeat(fitted.slots, bundles.threads),
            (_reason(bundles, fitted.slots), *parts.reasons()),
        )


def _refusal(
    algorithm: str, allocation: Allocation, bundles: BundleTable, cluster: Cluster, fitted: Fitted
) -> Refusal:
    if refusal := too_big(algorithm, allocation, bundles, cluster):
        return refusal
    assert fitted.unplaced is not None
    bundle = fitted.unplaced
    operator = allocation.operators[bundles.operator[bundle]].operator
    named = described(allocation, bundles, bundle)
    candidates = fitted.empty if bundles.full[bundle] else np.ones_like(fitted.empty)
    if not candidates.any():
        explanation = f"{named}, and none of {counted(cluster.slots, 'slot')} is empty"
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


def _reason(bundles: BundleTable, slots: NDArray[np.int64]) -> str:
    alone, rest = int(bundles.full.sum()), int((~bundles.full).sum())
    shared = len(np.unique(slots[~bundles.full]))
    own = "has a slot to itself" if alone == 1 else "have a slot each"
    parts = [
        f"{counted(alone, 'full bundle')} {own}",
        f"{counted(rest, 'partial bundle')} {'is' if rest == 1 else 'are'} in "
        f"{counted(shared, 'slot')}",
    ]
    return "; ".join(part for part, number in zip(parts, (alone, rest), strict=True) if number)
