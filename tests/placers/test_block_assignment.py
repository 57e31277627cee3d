"""Blocks are assigned as all pairs of threads would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.model import Placement
from slotwise.placers._block_assignment import assign_blocks
from slotwise.placers._pair_assignment import assign
from slotwise.placers.base import PlacementProblem
from slotwise.placers.traffic import TrafficBased
from slotwise.testing import strategies
from slotwise.testing.placers import cases
from tests import builders
from tests.placers.test_blocks import both


@st.composite
def exact_cases(draw: st.DrawFn) -> PlacementProblem:
    """Threads and rates that are powers of two, so that sums are exact and ties are ties; many
    threads are alike, and loads are few.
    """
    topology = draw(strategies.topologies(6))
    threads = {o.name: draw(st.sampled_from([1, 2, 4, 8])) for o in topology.operators}
    allocation = builders.allocation(topology, threads, rate=64.0)
    entries = (
        replace(entry, bundles=tuple(replace(b, cpu=cpu) for b in entry.bundles))
        for entry in allocation
        for cpu in [draw(st.sampled_from([0.125, 0.25]))]
    )
    allocation = replace(allocation, operators=tuple(entries))
    cluster = builders.cluster(draw(st.integers(1, 6)), slots=draw(st.integers(1, 8)), racks=1)
    return PlacementProblem(topology, allocation, cluster)


@settings(max_examples=300, deadline=None)
@given(case=exact_cases(), data=st.data())
def test_assigns_threads_and_workers_as_all_pairs(
    case: PlacementProblem, data: st.DataObject
) -> None:
    blocks, pairs = both(case)
    cpu = case.allocation.thread_cpu
    bins = data.draw(st.integers(1, 5))
    room = np.array([data.draw(st.integers(1, 2 * len(cpu) // bins + 1)) for _ in range(bins)])
    capacity = np.array([data.draw(st.sampled_from([0.5, 1.0, 4.0, np.inf])) for _ in room])
    found = assign_blocks(blocks, cpu, room, capacity)
    assert found.tolist() == assign(pairs, cpu, room, capacity).tolist()
    workers = data.draw(st.integers(1, len(cpu)))
    worker = np.array([data.draw(st.integers(0, workers - 1)) for _ in cpu])
    load = np.bincount(worker, cpu, workers)
    found = assign_blocks(blocks.between(worker, workers), load, room, capacity)
    expected = assign(pairs.between(worker, workers), load, room, capacity)
    assert found.tolist() == expected.tolist()


@settings(max_examples=200, deadline=None)
@given(case=exact_cases() | cases(), alpha=st.floats(0, 1))
def test_places_derived_traffic_as_if_it_were_measured(
    case: PlacementProblem, alpha: float
) -> None:
    derived = TrafficBased(alpha).place(case)
    measured = TrafficBased(alpha).place(replace(case, measured=case.thread_traffic))
    assert isinstance(derived, Placement) == isinstance(measured, Placement)
    if isinstance(derived, Placement) and isinstance(measured, Placement):
        assert derived.slots.tolist() == measured.slots.tolist()


@pytest.mark.parametrize("slots", [2, 4, 8])
def test_places_many_alike_threads_as_all_pairs(slots: int) -> None:
    chain = builders.chain(12)
    allocation = builders.allocation(chain, dict.fromkeys(chain.index, 16), cpu=0.1, rate=64.0)
    case = PlacementProblem(chain, allocation, builders.cluster(192 // slots, slots=slots))
    for cluster in (case.cluster, case.cluster.first(100)):
        given_case = replace(case, cluster=cluster)
        derived = TrafficBased().place(given_case)
        measured = TrafficBased().place(replace(given_case, measured=case.thread_traffic))
        assert isinstance(derived, Placement)
        assert isinstance(measured, Placement)
        assert derived.slots.tolist() == measured.slots.tolist()
