"""Fewest slots, then least traffic between nodes, by constraint programming: a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Placement, Refusal, counted
from slotwise.placers._best_fit import fit
from slotwise.placers._bundles import BundleTable, too_big
from slotwise.placers._exchanges import exchanged
from slotwise.placers._fewest_slots import Packing, fewest_slots
from slotwise.placers._least_traffic import Quietest, least_traffic, traffic_between_nodes
from slotwise.placers._options import check_option
from slotwise.placers._parts import Parts
from slotwise.placers.base import Guarantee, PlacementProblem

TRAFFIC_EFFORT = 0.2
"""Phase 2's share of the effort: what it can prove it proves soon, or not for a long time."""


@dataclass(frozen=True)
class Exact:
    """CP-SAT in two phases, on bundles kept whole, a full bundle alone in its slot as in SAM.

    Phase 1 looks for the fewest slots, from the better of SAM's packing and best fit by falling
    size. Phase 2 keeps that number and looks for the least traffic between nodes, after
    exchanging slots and bundles while that helps. The answer is never worse than SAM's. It says
    what was proven within the `effort`: `proven_bound` is the fewest slots that any placement of
    whole bundles needs. A case too large for a search gets the start, and the bound of all needs
    against the largest slots.

    Effort is counted in CP-SAT's deterministic seconds, never by the clock, with one thread and
    a fixed seed: the same input gives the same answer, however busy the machine. Exponential at
    worst.
    """

    name: ClassVar[str] = "exact"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset(
        {"slot-cpu", "slot-memory", "node-cpu", "node-memory"}
    )
    whole_bundles: ClassVar[bool] = True

    effort: float = 1.0
    """The most work, in deterministic seconds; each takes one to five real ones."""

    def __post_init__(self) -> None:
        valid = math.isfinite(self.effort) and self.effort > 0
        check_option("effort", self.effort, valid, "a number > 0")

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        allocation, cluster = problem.allocation, problem.cluster
        bundles = BundleTable.of(allocation)
        if refusal := too_big(self.name, allocation, bundles, cluster):
            return refusal
        packings = _packings(problem, bundles)
        start = min(packings, key=_used, default=None)
        packing = fewest_slots(bundles, cluster, start, self.effort)
        if packing.slots is None:
            return self._refusal(packing, cluster)
        improved = exchanged(problem, bundles, packing.slots)
        effort = TRAFFIC_EFFORT * self.effort
        quietest = least_traffic(problem, bundles, improved, effort)

        def leaving(slots: NDArray[np.int64]) -> float:
            thread_node = cluster.slot_node[np.repeat(slots, bundles.threads)]
            return traffic_between_nodes(problem, thread_node)

        as_few = [slots for slots in packings if _used(slots) == _used(packing.slots)]
        slots = min((improved, quietest.slots, *as_few), key=leaving)
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            np.repeat(slots, bundles.threads),
            (self._slots_reason(slots, packing), self._traffic_reason(leaving(slots), quietest)),
            proven_bound=packing.bound,
        )

    def _slots_reason(self, slots: NDArray[np.int64], packing: Packing) -> str:
        used = _used(slots)
        if used <= packing.bound:
            return f"{counted(used, 'slot')} used: proven to be the fewest"
        return (
            f"{counted(used, 'slot')} used; at least {packing.bound} are needed "
            f"(not decided with effort {self.effort:g})"
        )

    def _traffic_reason(self, leaving: float, quietest: Quietest) -> str:
        text = f"{leaving:,.1f} tuples/s leave their node"
        # The solver counts in tiny parts of all traffic, rounded per pair of threads.
        if leaving <= quietest.bound * (1 + 1e-9) + 1e-6:
            return f"{text}: proven to be the least in that many slots"
        return (
            f"{text}; at least {quietest.bound:,.1f} must with that many slots "
            f"(not decided with effort {self.effort:g})"
        )

    def _refusal(self, packing: Packing, cluster: Cluster) -> Refusal:
        missing = max(1, packing.bound - cluster.slots)
        slots = counted(cluster.slots, "slot")
        if packing.infeasible:
            explanation = (
                f"{slots} proven to be too few for whole bundles: at least {missing} more needed"
            )
        else:
            explanation = (
                f"no placement of whole bundles in {slots} was found with effort "
                f"{self.effort:g}; one may exist"
            )
        return Refusal(self.name, explanation, resource="slots", missing=float(missing))


def _packings(problem: PlacementProblem, bundles: BundleTable) -> list[NDArray[np.int64]]:
    """Those of SAM's rule and of best fit by falling size, and SAM's own; without incomplete ones.

    SAM keeps independent parts apart. The others do not: fewer slots come first here, and traffic
    is lowered afterwards.
    """
    parts = Parts.of(problem.topology, problem.allocation)
    together = Parts.as_one(problem.allocation)
    sweeps = bundles.sweeps(problem.topology, together)
    size = np.maximum(bundles.cpu, bundles.mem)
    falling = sweeps[np.lexsort((-size[sweeps], ~bundles.full[sweeps]))]
    ways = [(sweeps, together), (falling, together)]
    ways.append((bundles.sweeps(problem.topology, parts), parts))
    fitted = [fit(bundles, order, kept, problem.cluster) for order, kept in ways]
    return [each.slots for each in fitted if each.unplaced is None]


def _used(slots: NDArray[np.int64]) -> int:
    return len(np.unique(slots))
