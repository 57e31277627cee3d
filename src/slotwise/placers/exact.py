"""The yardstick: fewest slots, then least traffic between nodes, by constraint programming."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.placers._base import Guarantee
from slotwise.placers._exchanges import exchanged
from slotwise.placers._fewest_slots import Packing, fewest_slots
from slotwise.placers._least_traffic import Quietest, least_traffic, traffic_between_nodes
from slotwise.placers.sam import BundleTable, fit, too_big

TRAFFIC_EFFORT = 0.2
"""Phase 2's share of the effort: what it can prove it proves soon, or not for a long time."""


@dataclass(frozen=True)
class Exact:
    """CP-SAT in two phases, on bundles kept whole, a full bundle alone in its slot as in SAM.

    Phase 1 looks for the fewest slots, from the better of SAM's packing and best fit by falling
    size. Phase 2 keeps that number and looks for the least traffic between nodes, after
    exchanging slots and bundles while that helps. The placement says what was proven within the
    `effort`: `proven_bound` is the fewest slots that any placement of whole bundles needs. A case
    too large for a search gets the start, and the bound of all needs against the largest slots.

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
        if not (math.isfinite(self.effort) and self.effort > 0):
            raise ValueError(f"effort is {self.effort}: write a number above 0")

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        bundles = BundleTable.of(allocation)
        if refusal := too_big(self.name, allocation, bundles, cluster):
            return refusal
        packing = fewest_slots(bundles, cluster, _start(topology, bundles, cluster), self.effort)
        if packing.slots is None:
            return self._refusal(packing, cluster)
        start = exchanged(topology, allocation, bundles, cluster, traffic.streams, packing.slots)
        effort = TRAFFIC_EFFORT * self.effort
        quietest = least_traffic(topology, bundles, cluster, traffic.streams, start, effort)

        def leaving(slots: NDArray[np.int64]) -> float:
            thread_node = cluster.slot_node[np.repeat(slots, bundles.threads)]
            return traffic_between_nodes(topology, allocation, traffic.streams, thread_node)

        slots = min((start, quietest.slots), key=leaving)
        return Placement(
            self.name,
            tuple(allocation.threads.tolist()),
            np.repeat(slots, bundles.threads),
            (self._slots_reason(slots, packing), self._traffic_reason(leaving(slots), quietest)),
            proven_bound=packing.bound,
        )

    def _slots_reason(self, slots: NDArray[np.int64], packing: Packing) -> str:
        used = len(np.unique(slots))
        if used <= packing.bound:
            return f"{used} slots are used: proven to be the fewest"
        return (
            f"{used} slots are used; at least {packing.bound} are needed "
            f"(not settled with effort {self.effort:g})"
        )

    def _traffic_reason(self, leaving: float, quietest: Quietest) -> str:
        told = f"{leaving:,.1f} tuples/s leave their node"
        # The solver counts in tiny parts of all traffic, rounded per pair of threads.
        if leaving <= quietest.bound * (1 + 1e-9) + 1e-6:
            return f"{told}: proven to be the least in that many slots"
        return (
            f"{told}; at least {quietest.bound:,.1f} must in that many slots "
            f"(not settled with effort {self.effort:g})"
        )

    def _refusal(self, packing: Packing, cluster: Cluster) -> Refusal:
        missing = max(1, packing.bound - cluster.slots)
        if packing.infeasible:
            explanation = (
                f"{cluster.slots} slots are proven too few for the bundles kept whole: "
                f"at least {missing} more needed"
            )
        else:
            explanation = (
                f"no way to fit the bundles whole in {cluster.slots} slots was found with effort "
                f"{self.effort:g}; there may be one"
            )
        return Refusal(self.name, explanation, resource="slots", missing=float(missing))


def _start(topology: Topology, bundles: BundleTable, cluster: Cluster) -> NDArray[np.int64] | None:
    """SAM's packing, or best fit by falling size where that needs fewer slots; None if neither."""
    sweeps = bundles.sweeps(topology)
    size = np.maximum(bundles.cpu, bundles.mem)
    falling = sweeps[np.lexsort((-size[sweeps], ~bundles.full[sweeps]))]
    fitted = [fit(bundles, order, cluster) for order in (sweeps, falling)]
    complete = [f.slots for f in fitted if f.unplaced is None]
    return min(complete, key=lambda slots: len(np.unique(slots)), default=None)
