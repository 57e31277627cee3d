"""Every allocator keeps the allocators' contract, and the contract finds those that do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from slotwise import registry
from slotwise.allocators.base import Allocator
from slotwise.allocators.lsa import Lsa
from slotwise.model import (
    Allocation,
    Bundle,
    Choice,
    FixedLoad,
    Goals,
    OperatorAllocation,
    Profiles,
    Refusal,
    ServiceRate,
    Topology,
)
from slotwise.testing.allocators import AllocatorContract, check, with_grouping
from tests.builders import topology

BY_THE_BUNDLE = ("lsa", "mba", "percentile")


class TestByTheBundle(AllocatorContract):
    @pytest.fixture(params=BY_THE_BUNDLE)
    def allocator(self, request: pytest.FixtureRequest) -> Allocator:
        return registry.allocator(Choice(request.param))


class TestByTheThread(AllocatorContract):
    """Those that count every thread at what it does in a full bundle."""

    @pytest.fixture(params=[name for name in registry.ALLOCATORS if name not in BY_THE_BUNDLE])
    def allocator(self, request: pytest.FixtureRequest) -> Allocator:
        return registry.allocator(Choice(request.param))

    def capacity(self, entry: OperatorAllocation, profiles: Profiles) -> float:
        return entry.threads * profiles.service(entry.operator).rate


@pytest.mark.parametrize("name", registry.ALLOCATORS)
def test_no_thread_too_many_for_what_all_grouping_copies(name: str) -> None:
    case = with_grouping("all", thread_rate=100.0)
    answer = registry.allocator(Choice(name)).allocate(*case, AllocatorContract.goals)
    assert isinstance(answer, Allocation)
    # n·100 ≥ 100 + n·50, and DRS needs more than that.
    assert answer.operators[2].threads in (2, 3)


@pytest.mark.parametrize("name", registry.ALLOCATORS)
def test_a_refused_global_grouping_says_what_one_thread_handles(name: str) -> None:
    case = with_grouping("global", thread_rate=40.0)
    answer = registry.allocator(Choice(name)).allocate(*case, AllocatorContract.goals)
    assert isinstance(answer, Refusal)
    assert "one thread of 'a' handles at most 40.0" in answer.reason
    assert answer.missing == pytest.approx(10.0)


@pytest.mark.parametrize("name", registry.ALLOCATORS)
@pytest.mark.parametrize(
    ("rate", "problem"),
    [
        (9e6, "operator 'a' would need 9,000,000 threads"),
        (6e5, "the operators together would need"),
    ],
)
def test_more_threads_than_a_plan_may_have_are_refused(
    name: str, rate: float, problem: str
) -> None:
    profiles = Profiles({"in": FixedLoad(), "a": ServiceRate(1.0), "b": ServiceRate(1.0)}, 1024.0)
    answer = registry.allocator(Choice(name)).allocate(
        topology("in>a", "a>b"), profiles, rate, AllocatorContract.goals
    )
    assert isinstance(answer, Refusal)
    assert problem in answer.reason
    assert "above the limit of 1,000,000 threads in a plan" in answer.reason
    assert answer.final


@dataclass(frozen=True)
class Wrong:
    """LSA's answer with a fault in its last entry."""

    name: ClassVar[str] = "wrong"
    fault: str = "none"

    def allocate(
        self, topology: Topology, profiles: Profiles, rate: float, goals: Goals
    ) -> Allocation | Refusal:
        answer = Lsa().allocate(topology, profiles, rate, goals)
        assert isinstance(answer, Allocation)
        *others, last = answer.operators
        faulty = {
            "none": last,
            "free": replace(last, bundles=(Bundle(last.threads, 0.0, 0.0),)),
            "half rate": replace(last, arrival_rate=last.arrival_rate / 2),
            "no reason": replace(last, reason=""),
            "no thread": replace(last, bundles=()),
        }
        return Allocation(self.name, rate, (*others, faulty[self.fault]))


@pytest.mark.parametrize("fault", ["free", "half rate", "no reason", "no thread"])
def test_the_contract_finds(fault: str) -> None:
    arguments = (*with_grouping("all", thread_rate=100.0), Goals())
    check(Wrong(), *arguments)
    with pytest.raises(AssertionError):
        check(Wrong(fault), *arguments)
