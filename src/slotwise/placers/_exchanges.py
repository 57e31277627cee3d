"""Between the phases of `exact`: exchange slots and bundles while that lowers the traffic.

What stays inside nodes is Σ_v t_vᵀ W t_v, with t_v the threads of each operator on node v and
W_ij the rate of one pair of threads. Moving d threads from node w to v gains
d·S(t_v − t_w) + dᵀSd, S = W + Wᵀ: one product of matrices rates all exchanges of a slot or
bundle at once. A `global` stream has one receiver; that thread is a column of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slotwise.model.allocation import TOLERANCE
from slotwise.placers._bundles import BundleTable
from slotwise.placers.base import PlacementProblem

MOST_PASSES = 50
"""Passes over all slots and bundles; a handful is usual until nothing gains any more."""
MOST_WORK = 2_000_000
"""A pass costs bundles² · operators; with more than this none is made."""


def exchanged(
    problem: PlacementProblem, bundles: BundleTable, slots: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Every bundle's slot after hill climbing; never more slots, never more traffic.

    O(passes · bundles² · operators); left as it is where that would be too much.
    """
    if len(slots) ** 2 * len(problem.topology.operators) > MOST_WORK:
        return slots
    state = _State(problem, bundles, slots)
    for _ in range(MOST_PASSES):
        gained = [state.exchange_slot(slot) for slot in np.unique(state.slots).tolist()]
        gained += [
            state.exchange_bundle(bundle) for bundle in np.flatnonzero(~bundles.full).tolist()
        ]
        if not any(gained):
            break
    return state.slots


class _State:
    def __init__(
        self, problem: PlacementProblem, bundles: BundleTable, slots: NDArray[np.int64]
    ) -> None:
        cluster = problem.cluster
        self.bundles, self.cluster, self.slots = bundles, cluster, slots.copy()
        self.columns, pair_rates = _columns(problem, bundles)
        self.pulls = pair_rates + pair_rates.T
        self.least_gain = 1e-9 * float(problem.stream_rates.sum())
        self.needs = np.stack((bundles.cpu, bundles.mem), axis=1)
        self.capacity = np.stack((cluster.slot_cpu, cluster.slot_memory), axis=1)
        kinds = np.unique(self.capacity, axis=0, return_inverse=True)
        self.kind: NDArray[np.int64] = kinds[1].ravel()
        self._sum_up()

    def _sum_up(self) -> None:
        """What each slot holds and has left, and how every node pulls at a thread."""
        node = self.cluster.slot_node
        self.in_slot = np.zeros((self.cluster.slots, self.columns.shape[1]))
        np.add.at(self.in_slot, self.slots, self.columns)
        on_node = np.add.reduceat(self.in_slot, self.cluster.first_slot[:-1])
        self.pulled = (on_node @ self.pulls)[node]
        self.left = self.capacity.copy()
        np.subtract.at(self.left, self.slots, self.needs)
        self.shared = np.unique(self.slots[~self.bundles.full])

    def exchange_slot(self, slot: int) -> bool:
        """Swap all that is in `slot` with the slot of its size that gains most, if one does."""
        others = np.flatnonzero(self.kind == self.kind[slot])
        gains = self._gains(self.in_slot[others] - self.in_slot[slot], slot, others)
        best = int(np.argmax(gains))
        if gains[best] <= self.least_gain:
            return False
        there, here = self.slots == others[best], self.slots == slot
        self.slots[there], self.slots[here] = slot, others[best]
        self._sum_up()
        return True

    def exchange_bundle(self, bundle: int) -> bool:
        """Move the bundle, or swap it with another that is not full, if that gains."""
        slot, left, shared = int(self.slots[bundle]), self.left, self.shared
        others = np.flatnonzero(~self.bundles.full)
        there = self.slots[others]
        moves = np.all(self.needs[bundle] <= left[shared] + TOLERANCE, axis=1)
        more = self.needs[bundle] - self.needs[others]
        swaps = np.all(
            (more <= left[there] + TOLERANCE) & (-more <= left[slot] + TOLERANCE), axis=1
        )
        own = self.columns[bundle]
        gains = np.concatenate(
            (
                np.where(moves, self._gains(np.tile(-own, (len(shared), 1)), slot, shared), 0.0),
                np.where(swaps, self._gains(self.columns[others] - own, slot, there), 0.0),
            )
        )
        best = int(np.argmax(gains))
        if gains[best] <= self.least_gain:
            return False
        if best < len(shared):
            self.slots[bundle] = shared[best]
        else:
            other = others[best - len(shared)]
            self.slots[bundle], self.slots[other] = self.slots[other], slot
        self._sum_up()
        return True

    def _gains(
        self, threads: NDArray[np.float64], slot: int, others: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """What stays inside nodes more if threads[n] come to `slot`'s node from others[n]'s."""
        node = self.cluster.slot_node
        difference = self.pulled[slot] - self.pulled[others]
        gains: NDArray[np.float64] = np.sum(threads * (difference + threads @ self.pulls), axis=1)
        return np.where(node[others] == node[slot], 0.0, gains)


def _columns(
    problem: PlacementProblem, bundles: BundleTable
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per bundle its threads by column, and the rate between one thread of each two columns.

    Columns are the operators, then the threads 0 of operators again.
    """
    topology, allocation = problem.topology, problem.allocation
    size = len(topology.operators)
    columns = np.zeros((len(bundles.operator), 2 * size))
    columns[np.arange(len(columns)), bundles.operator] = bundles.threads
    first_bundle = np.searchsorted(bundles.operator, np.arange(size))
    columns[first_bundle, size + np.arange(size)] = 1
    pair_rates = np.zeros((2 * size, 2 * size))
    for position, (source, target) in enumerate(topology.edges):
        rate = problem.stream_rates[position] / allocation.threads[source]
        if topology.streams[position].grouping.kind == "global":
            pair_rates[source, size + target] += rate
        else:
            pair_rates[source, target] += rate / allocation.threads[target]
    return columns, pair_rates
