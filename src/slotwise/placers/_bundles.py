"""An allocation's bundles as columns, for the placers that keep them whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Refusal, Topology, counted
from slotwise.model.allocation import TOLERANCE
from slotwise.placers._parts import Parts
from slotwise.placers._shortfall import shortfall


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

    def sweeps(self, topology: Topology, parts: Parts) -> NDArray[np.int64]:
        """The bundles in SAM's order, part by part: the n-th of every operator before the n+1-th
        of any.
        """
        turn = np.argsort(topology.order)[self.operator]
        grouped = np.lexsort((~self.full, self.operator))
        starts = np.searchsorted(self.operator, self.operator)
        sweep = np.empty_like(grouped)
        # `grouped` permutes within operators only, so position minus start is the sweep.
        sweep[grouped] = np.arange(len(grouped)) - starts
        return np.lexsort((turn, sweep, parts.turn[self.operator]))


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
                f"{described(allocation, bundles, bundle)}: no slot of the cluster is that large, "
                f"even empty; {missing:.4g} {resource} is missing",
                allocation.operators[bundles.operator[bundle]].operator,
                resource,
                missing,
                final=True,
            )
    return None


def described(allocation: Allocation, bundles: BundleTable, bundle: int) -> str:
    operator = allocation.operators[bundles.operator[bundle]].operator
    kind = "a slot of its own with" if bundles.full[bundle] else "a slot with"
    threads = int(bundles.threads[bundle])
    return (
        f"{counted(threads, 'thread')} of '{operator}' need{'s' * (threads == 1)} {kind} "
        f"{bundles.cpu[bundle]:.4g} cpu and {bundles.mem[bundle]:.4g} memory"
    )
