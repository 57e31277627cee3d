"""Every placer keeps the placers' contract on random topologies, allocations and clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from slotwise import registry
from slotwise.model import Choice, Placement, Refusal
from slotwise.placers.base import Guarantee, PlacementProblem, Placer
from slotwise.testing.placers import PlacerContract, check, check_refusal
from tests import builders

OPTIONS = {"exact": {"effort": 0.01}}


class TestEveryPlacer(PlacerContract):
    @pytest.fixture(params=registry.PLACERS)
    def placer(self, request: pytest.FixtureRequest) -> Placer:
        return registry.placer(Choice(request.param, OPTIONS.get(request.param, {})))


@dataclass(frozen=True)
class AllInFirstSlot:
    """A placer with a fault: it vouches for the slots' CPU and puts everything in slot 0."""

    name: ClassVar[str] = "all-in-first-slot"
    guarantees: ClassVar[frozenset[Guarantee]] = frozenset({"slot-cpu"})

    def place(self, problem: PlacementProblem) -> Placement | Refusal:
        threads = tuple(problem.allocation.threads.tolist())
        return Placement(self.name, threads, np.zeros(sum(threads), dtype=np.int64))


def test_the_contract_finds_an_overfull_slot() -> None:
    topology = builders.chain(2)
    allocation = builders.allocation(topology, {"o0": 10, "o1": 10})
    with pytest.raises(AssertionError, match="over its cpu"):
        check(AllInFirstSlot(), PlacementProblem(topology, allocation, builders.cluster(2)))


def test_the_contract_finds_a_refusal_without_an_amount() -> None:
    refusal = Refusal(AllInFirstSlot.name, "no", resource="cpu", missing=0.1)
    check_refusal(AllInFirstSlot(), refusal)
    with pytest.raises(AssertionError):
        check_refusal(AllInFirstSlot(), replace(refusal, missing=None))
