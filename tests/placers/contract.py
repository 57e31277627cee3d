"""What every placer keeps, also one from outside this package: run it through `check`.

    @given(cases())
    def test_mine(case):
        check(MyPlacer(), *case)

A placer with a true `whole_bundles` attribute keeps bundles whole and is charged by the bundle;
any other is charged even shares per thread.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from slotwise import registry
from slotwise.model import Allocation, Choice, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.placers._base import Placer
from tests import builders, strategies

TOLERANCE = 1e-9
Case = tuple[Topology, Allocation, Cluster, Traffic]


def known_placers(**options: dict[str, float]) -> dict[str, Callable[[], Placer]]:
    """A constructor for every placer of the registry, by name; `options` by name too."""
    return {
        name: partial(registry.placer, Choice(name, options.get(name, {})))
        for name, path in registry.PLACERS.items()
        if find_spec(path.partition(":")[0])
    }


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random topology, an allocation for it, a cluster that may be too small, the traffic."""
    topology = draw(strategies.topologies())
    if draw(st.booleans()):
        topology = replace(topology, workers=draw(st.integers(1, 8)))
    allocation = draw(strategies.allocations(topology))
    return topology, allocation, draw(strategies.clusters()), builders.traffic(topology, allocation)


def check(
    placer: Placer,
    topology: Topology,
    allocation: Allocation,
    cluster: Cluster,
    traffic: Traffic,
) -> Placement | Refusal:
    """Run the placer and check all that a placer promises; returns its answer."""
    case = (topology, allocation, cluster, traffic)
    before = copy.deepcopy(case)
    answer = placer.place(*case)
    assert _same(case, before), "the arguments were changed"
    assert answer == placer.place(*before), "the same input gave another answer"
    if isinstance(answer, Refusal):
        check_refusal(placer, answer)
    else:
        check_placement(placer, answer, allocation, cluster)
    return answer


def check_placement(
    placer: Placer, placement: Placement, allocation: Allocation, cluster: Cluster
) -> None:
    """Every thread once in an existing slot, and the capacities the placer vouches for kept."""
    assert placement.algorithm == placer.name
    assert placement.threads == tuple(allocation.threads.tolist())
    assert len(placement.slots) == allocation.total_threads
    assert placement.slots.min() >= 0
    assert placement.slots.max() < cluster.slots
    if placement.proven_bound is not None:
        assert placement.proven_bound <= len(placement.used_slots)
    cpu, mem = charges(placer, placement, allocation, cluster)
    node = cluster.slot_node
    for resource, charged, capacity in (
        ("cpu", cpu, cluster.slot_cpu),
        ("memory", mem, cluster.slot_memory),
    ):
        if f"slot-{resource}" in placer.guarantees:
            assert np.all(charged <= capacity + TOLERANCE), f"a slot is over its {resource}"
        if f"node-{resource}" in placer.guarantees:
            over = np.bincount(node, charged) - np.bincount(node, capacity)
            assert np.all(over <= TOLERANCE), f"a node is over its {resource}"


def check_refusal(placer: Placer, refusal: Refusal) -> None:
    """It says who refuses, for whom or for want of what, and how much of it."""
    assert refusal.algorithm == placer.name
    assert refusal.explanation
    assert refusal.operator or refusal.resource
    if refusal.resource:
        assert refusal.missing is not None
        assert math.isfinite(refusal.missing)
        assert refusal.missing > 0


def check_growth(
    placer: Placer,
    topology: Topology,
    allocation: Allocation,
    cluster: Cluster,
    traffic: Traffic,
) -> None:
    """Unless a refusal is final, enough machines like those at hand end it."""
    while isinstance(answer := placer.place(topology, allocation, cluster, traffic), Refusal):
        if answer.final:
            return
        most = max(allocation.total_threads, topology.workers or 1)
        assert cluster.slots < 2 * most * len(cluster.nodes), f"still refused: {answer.reason}"
        cluster = doubled(cluster)


def doubled(cluster: Cluster) -> Cluster:
    """Every node twice."""
    size = len(cluster.nodes)
    again = tuple(replace(n, name=f"{n.name}+{size}") for n in cluster.nodes)
    return replace(cluster, nodes=cluster.nodes + again)


def charges(
    placer: Placer, placement: Placement, allocation: Allocation, cluster: Cluster
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(cpu, memory) charged to each slot."""
    if not getattr(placer, "whole_bundles", False):
        cpu, mem = allocation.thread_cpu, allocation.thread_mem
        return (
            np.bincount(placement.slots, cpu, cluster.slots),
            np.bincount(placement.slots, mem, cluster.slots),
        )
    bundles = [bundle for entry in allocation for bundle in entry.bundles]
    sizes = [bundle.threads for bundle in bundles]
    slots = placement.slots[np.concatenate(([0], np.cumsum(sizes)[:-1]))]
    assert np.array_equal(np.repeat(slots, sizes), placement.slots), "a bundle was split"
    full = slots[[bundle.full for bundle in bundles]]
    assert np.all(np.bincount(slots)[full] == 1), "a full bundle shares its slot"
    return (
        np.bincount(slots, [bundle.cpu for bundle in bundles], cluster.slots),
        np.bincount(slots, [bundle.mem for bundle in bundles], cluster.slots),
    )


def _same(case: Case, other: Case) -> bool:
    return case[:3] == other[:3] and np.array_equal(case[3].streams, other[3].streams)
