"""Exchanges bring together what talks to each other, and never break a packing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from slotwise.model import Bundle, Placement
from slotwise.placers._bundles import BundleTable
from slotwise.placers._exchanges import exchanged
from slotwise.placers._least_traffic import traffic_between_nodes
from slotwise.placers.base import PlacementProblem
from slotwise.placers.sam import Sam
from slotwise.testing.placers import cases, charges
from tests import builders
from tests.placers.test_sam import allocated


def test_two_pairs_that_were_torn_apart_are_joined() -> None:
    topology = builders.topology("a>b", "c>d")
    allocation = allocated(topology, **{name: (Bundle(1, 1.0, 1.0, full=True),) for name in "abcd"})
    bundles, cluster = BundleTable.of(allocation), builders.cluster(2, slots=2)
    apart = np.array([0, 2, 1, 3])
    slots = exchanged(PlacementProblem(topology, allocation, cluster), bundles, apart)
    node = cluster.slot_node[slots]
    assert node[0] == node[1] != node[2] == node[3]


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_traffic_and_slots_only_fall_and_capacities_hold(case: PlacementProblem) -> None:
    allocation, cluster = case.allocation, case.cluster
    sam = Sam().place(case)
    if not isinstance(sam, Placement):
        return
    bundles = BundleTable.of(allocation)
    before = sam.slots[np.cumsum(bundles.threads) - 1]
    slots = exchanged(case, bundles, before)
    after = Placement("sam", sam.threads, np.repeat(slots, bundles.threads))

    def leaving(placement: Placement) -> float:
        return traffic_between_nodes(case, cluster.slot_node[placement.slots])

    assert leaving(after) <= leaving(sam) + 1e-6
    assert len(after.used_slots) <= len(sam.used_slots)
    cpu, mem = charges(Sam(), after, allocation, cluster)
    assert np.all(cpu <= cluster.slot_cpu + 1e-9)
    assert np.all(mem <= cluster.slot_memory + 1e-9)
