"""Workers: the slots a topology runs in, and how the threads of a node share them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Refusal, Topology
from slotwise.placers.round_robin import even_order


def worker_slots(name: str, topology: Topology, cluster: Cluster) -> NDArray[np.int64] | Refusal:
    """One slot per worker, going round the nodes: worker 0 on the first node, worker 1 on the
    second, …, full nodes left out. The topology says how many workers, or else they are all slots.

    `name` is the placer that refuses when there are fewer slots than workers asked for.
    O(slots · log slots).
    """
    asked = topology.workers or cluster.slots
    if asked > cluster.slots:
        return Refusal(
            name,
            f"topology '{topology.name}' asks for {asked} workers "
            f"but the cluster has {cluster.slots} slots",
            resource="slots",
            missing=float(asked - cluster.slots),
        )
    return even_order(cluster)[:asked]


def shared_evenly(
    nodes: NDArray[np.int64],
    cpu: NDArray[np.float64],
    slots: NDArray[np.int64],
    cluster: Cluster,
) -> NDArray[np.int64]:
    """A slot for each thread on its node: thread by thread the one with the least CPU load, of
    equals the one with the fewest threads, then the lowest. `slots` are those that may be used.

    O(threads · slots of a node).
    """
    from slotwise.placers._kernels import fill_least_loaded

    slots = np.sort(slots)
    first = np.searchsorted(cluster.slot_node[slots], np.arange(len(cluster.nodes) + 1))
    return slots[fill_least_loaded(nodes, cpu, first)]
