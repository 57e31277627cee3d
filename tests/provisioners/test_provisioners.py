"""Buying machines: paper 1's rule, the cheapest set against brute force, and what does not fit."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise import registry
from slotwise.model import Allocation, Bundle, Choice, Cluster, OperatorAllocation, Refusal, VmType
from slotwise.provisioners.base import Catalog, ChoosingProvisioner, Provisioner
from slotwise.provisioners.largest_first import LargestFirst
from slotwise.testing import strategies
from slotwise.testing.provisioners import ProvisionerContract, check

PAPER = (VmType("D1", 1, 3.5, 0.1), VmType("D2", 2, 7.0, 0.2), VmType("D3", 4, 14.0, 0.4))
PROVISIONERS = sorted(registry.PROVISIONERS)


def needing(cpu: float, mem: float) -> Allocation:
    entry = OperatorAllocation("a", 1.0, (Bundle(1, cpu, mem),), "as the test says")
    return Allocation("test", 1.0, (entry,))


def buy(name: str, slots: int, catalog: tuple[VmType, ...], need: Allocation | None = None):
    smallest = min(vm.slot_memory_gb for vm in catalog)
    seller = registry.provisioner(Choice(name))
    return seller.provision(need or needing(0.5, 0.5), catalog, smallest, slots)


def types(cluster: Cluster | Refusal) -> list[str | None]:
    assert isinstance(cluster, Cluster)
    return [node.type for node in cluster.nodes]


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        (1, ["D1"]),
        (3, ["D3"]),
        (4, ["D3"]),
        (5, ["D3", "D1"]),
        (6, ["D3", "D2"]),
        (7, ["D3", "D3"]),
    ],
)
def test_largest_first_then_the_smallest_that_holds_the_rest(slots: int, expected: list) -> None:
    assert types(buy("largest-first", slots, PAPER)) == expected


@settings(max_examples=60, deadline=None)
@given(strategies.catalogs(), st.integers(1, 9))
def test_no_set_of_machines_is_cheaper(catalog: tuple[VmType, ...], slots: int) -> None:
    bought = buy("cheapest", slots, catalog)
    assert isinstance(bought, Cluster)
    counts = itertools.product(range(slots + 1), repeat=len(catalog))
    least = min(
        sum(n * vm.price_per_hour for n, vm in zip(count, catalog, strict=True))
        for count in counts
        if sum(n * vm.slots for n, vm in zip(count, catalog, strict=True)) >= slots
    )
    assert bought.price_per_hour == pytest.approx(least)


class TestContract(ProvisionerContract):
    @pytest.fixture(params=PROVISIONERS)
    def provisioner(self, request: pytest.FixtureRequest) -> Provisioner:
        return registry.provisioner(Choice(request.param))


@pytest.mark.parametrize("name", PROVISIONERS)
@settings(max_examples=40, deadline=None)
@given(catalog=strategies.catalogs(), slots=st.integers(1, 60))
def test_no_machine_too_many(name: str, catalog: tuple[VmType, ...], slots: int) -> None:
    bought = buy(name, slots, catalog)
    assert isinstance(bought, Cluster)
    assert bought.slots - max(vm.slots for vm in catalog) < slots


@dataclass(frozen=True)
class Spare(ChoosingProvisioner):
    """A provisioner with a fault: it forgets the last machine, or buys one that is not on offer."""

    name: ClassVar[str] = "spare"
    fault: str = "too few"

    def choose(self, types: Catalog, slots: int) -> list[VmType]:
        largest_first = LargestFirst().choose(types, slots)
        if self.fault == "too few":
            return largest_first[:-1]
        return [*largest_first, VmType("gift", 4, 100.0)]


@pytest.mark.parametrize(
    ("fault", "found"), [("too few", "too few slots"), ("gift", "gift does not hold")]
)
def test_the_contract_finds(fault: str, found: str) -> None:
    with pytest.raises(AssertionError, match=found):
        check(Spare(fault), needing(0.5, 0.5), PAPER, 3.5, 9)


@pytest.mark.parametrize("name", PROVISIONERS)
def test_types_too_small_for_a_thread_are_not_bought(name: str) -> None:
    catalog = (VmType("small", 4, 8.0, 0.1), VmType("large", 4, 16.0, 9.0))
    assert types(buy(name, 4, catalog, needing(0.5, 1.5))) == ["large"]


@pytest.mark.parametrize("name", PROVISIONERS)
def test_a_machine_may_hold_what_no_slot_does(name: str) -> None:
    """Paper 3 bounds the memory of machines: 3 slots' worth is in D3, which has 4 slots."""
    assert types(buy(name, 1, PAPER, needing(0.1, 3.0))) == ["D3"]
    catalog = (*PAPER, VmType("roomy", 1, 10.5, 9.0))
    assert types(buy(name, 1, catalog, needing(0.1, 3.0))) == ["roomy"], "a slot holds it"


@pytest.mark.parametrize("name", PROVISIONERS)
@pytest.mark.parametrize(
    ("cpu", "mem", "resource", "missing"), [(2.0, 0.1, "cpu", 1.0), (0.1, 5.0, "memory", 1.0)]
)
def test_no_type_that_fits_a_thread_is_refused(
    name: str, cpu: float, mem: float, resource: str, missing: float
) -> None:
    answer = buy(name, 1, PAPER, needing(cpu, mem))
    assert isinstance(answer, Refusal)
    assert answer.final
    assert (answer.operator, answer.resource) == ("a", resource)
    assert answer.missing == pytest.approx(missing)
    assert "no machine type in the catalog fits a thread of 'a'" in answer.reason
