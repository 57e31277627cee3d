"""Threads that are alike: in one group, and with as many keys where tuples come by key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.keys import NUMBER
from slotwise.model import Plan
from slotwise.prediction.groups import Floats, Groups, thread_keys


@dataclass(frozen=True)
class ThreadKinds:
    """Parallel arrays, one entry per kind, ordered by operator and group."""

    operator: NDArray[np.int64]
    group: NDArray[np.int64]
    threads: NDArray[np.int64]
    keyed: Floats
    """The part of a `fields` stream's tuples that one thread of the kind gets."""
    weighted: Floats
    """The part that it gets under the plan's weights."""
    leads: Floats
    """1 where it is thread 0 of an operator that `global` grouping feeds."""

    def of_operator(self, position: int) -> slice:
        start, stop = np.searchsorted(self.operator, [position, position + 1])
        return slice(int(start), int(stop))

    def shares(self, grouping: str, here: slice) -> Floats:
        """The part of a stream's tuples that one thread of each kind of its target gets."""
        routed = {"fields": self.keyed, "weighted": self.weighted, "global": self.leads}
        if grouping in routed:
            return routed[grouping][here]
        threads = self.threads[here]
        return np.full(len(threads), 1 / threads.sum())


def thread_kinds(plan: Plan, groups: Groups, by_weight: Floats) -> ThreadKinds:
    """`by_weight` is each group's share under the plan's weights. O(threads log threads)."""
    keys = thread_keys(plan.pipeline.topology, plan.placement)
    coded = groups.of_threads(plan.placement) * (NUMBER + 1) + keys
    found, threads = np.unique(coded, return_counts=True)
    group, keys = np.divmod(found, NUMBER + 1)
    return ThreadKinds(
        operator=groups.operator[group],
        group=group,
        threads=threads,
        keyed=keys / NUMBER,
        weighted=(by_weight / groups.threads)[group],
        leads=groups.leads[group].astype(np.float64),
    )
