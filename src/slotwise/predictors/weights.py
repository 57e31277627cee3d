"""Routing weights that fill every slot evenly: paper 1's open problem."""

from __future__ import annotations

import numpy as np

from slotwise.model import Cluster, Pipeline, Placement
from slotwise.predictors.groups import Floats, Groups, groups_of, summed
from slotwise.predictors.rate import slowed_capacity
from slotwise.rates import arrival_rates


def weights(
    pipeline: Pipeline, cluster: Cluster, placement: Placement
) -> dict[str, tuple[float, ...]]:
    """Per operator, the part of its tuples each thread should get, summing to 1.

    A slot's threads together get what their slot can do, as a part of what all slots of the
    operator can do: no slot saturates before the others. With these weights (`weighted` grouping)
    the predicted rate is the proportional one. O(threads log threads).
    """
    groups = groups_of(pipeline, cluster, placement)
    unit = arrival_rates(pipeline.topology, 1.0, placement.threads)
    shares = groups.shares_of(slowed_capacity(groups, unit, cluster))
    per_thread = shares_per_thread(groups, shares, cluster.slots, placement)
    bounds = np.concatenate(([0], np.cumsum(placement.threads)))
    return {
        operator.name: tuple(per_thread[bounds[i] : bounds[i + 1]].tolist())
        for i, operator in enumerate(pipeline.topology.operators)
    }


def shares_per_thread(groups: Groups, shares: Floats, slots: int, placement: Placement) -> Floats:
    """Group shares divided evenly over the operator's threads in that slot."""
    keys, at = np.unique(groups.operator * slots + groups.slot, return_inverse=True)
    in_slot = summed(shares, at)
    threads = summed(groups.threads.astype(np.float64), at)
    mine = np.searchsorted(keys, placement.thread_operator * slots + placement.slots)
    return in_slot[mine] / threads[mine]
