"""Every placer keeps the placers' contract on random topologies, allocations and clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic
from slotwise.placers._base import Guarantee
from tests import builders
from tests.placers.contract import (
    Case,
    cases,
    check,
    check_growth,
    check_refusal,
    known_placers,
)

relaxed = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PLACERS = known_placers(exact={"effort": 0.01})


@pytest.mark.parametrize("name", list(PLACERS))
class TestEveryPlacer:
    @relaxed
    @given(case=cases())
    def test_keeps_the_contract(self, name: str, case: Case) -> None:
        placer = PLACERS[name]()
        assert placer.name == name
        check(placer, *case)

    @relaxed
    @given(case=cases())
    def test_more_machines_end_a_refusal_that_is_not_final(self, name: str, case: Case) -> None:
        check_growth(PLACERS[name](), *case)

    def test_a_larger_case(self, name: str) -> None:
        topology = builders.chain(6)
        threads = {operator.name: 20 for operator in topology.operators}
        allocation = builders.allocation(topology, threads)
        cluster = builders.cluster(10, racks=2)
        traffic = builders.traffic(topology, allocation)
        answer = check(PLACERS[name](), topology, allocation, cluster, traffic)
        assert isinstance(answer, Placement)


@dataclass(frozen=True)
class AllInFirstSlot:
    """A placer with a fault: it vouches for the slots' CPU and puts everything in slot 0."""

    name: ClassVar[str] = "all-in-first-slot"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"slot-cpu"})

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal:
        slots = np.zeros(allocation.total_threads, dtype=np.int64)
        return Placement(self.name, tuple(allocation.threads.tolist()), slots)


def test_the_contract_finds_an_overfull_slot() -> None:
    topology = builders.chain(2)
    allocation = builders.allocation(topology, {"o0": 10, "o1": 10})
    traffic = builders.traffic(topology, allocation)
    with pytest.raises(AssertionError, match="over its cpu"):
        check(AllInFirstSlot(), topology, allocation, builders.cluster(2), traffic)


def test_the_contract_finds_a_refusal_without_an_amount() -> None:
    refusal = Refusal(AllInFirstSlot.name, "no", resource="cpu", missing=0.1)
    check_refusal(AllInFirstSlot(), refusal)
    with pytest.raises(AssertionError):
        check_refusal(AllInFirstSlot(), replace(refusal, missing=None))
