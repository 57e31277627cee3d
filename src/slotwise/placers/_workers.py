"""Workers: the slots a topology runs in, how many threads one holds, and how threads share them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Refusal, Topology, counted, whole


def worker_slots(name: str, topology: Topology, cluster: Cluster) -> NDArray[np.int64] | Refusal:
    """One slot per worker, going round the nodes: worker 0 on the first node, worker 1 on the
    second, …, full nodes left out. The topology says how many workers, or else they are all slots.

    `name` is the placer that refuses when there are fewer slots than workers asked for.
    O(slots · log slots).
    """
    asked = topology.workers or cluster.slots
    if refusal := too_few_slots(name, asked, cluster):
        return refusal
    return even_order(cluster)[:asked]


def too_few_slots(name: str, workers: int, cluster: Cluster) -> Refusal | None:
    """The placer's refusal if the cluster has fewer slots than workers."""
    if workers <= cluster.slots:
        return None
    return Refusal(
        name,
        f"{counted(workers, 'worker')} need a slot each, but the cluster has "
        f"{counted(cluster.slots, 'slot')}",
        resource="slots",
        missing=float(workers - cluster.slots),
    )


def even_order(cluster: Cluster) -> NDArray[np.int64]:
    """All slots, the first of every node before the second of any.

    >>> from slotwise.model import Node
    >>> even_order(Cluster((Node("a", 2, 7.0), Node("b", 2, 7.0)), slot_memory_gb=3.5)).tolist()
    [0, 2, 1, 3]
    """
    index_in_node = np.arange(cluster.slots) - cluster.first_slot[cluster.slot_node]
    return np.argsort(index_in_node, kind="stable")


def most_threads(threads: int, workers: int, alpha: float) -> int:
    """M(α) = ⌈E/W⌉ + α·(E − W + 1 − ⌈E/W⌉), rounded up: the most threads in one worker (paper 2).

    >>> [most_threads(30, 8, alpha) for alpha in (0, 0.05, 0.2)]
    [4, 5, 8]
    """
    least = -(-threads // workers)
    return whole(least + alpha * (threads - workers + 1 - least))


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
