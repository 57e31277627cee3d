"""What every provisioner keeps: inherit from `ProvisionerContract`, or call `check`."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st

from slotwise.model import Allocation, Cluster, Refusal, VmType
from slotwise.provisioners.base import Catalog, Provisioner
from slotwise.testing import strategies
from slotwise.testing.answers import answer_to, check_all, check_fits, check_refusal

TOLERANCE = 1e-9
Case = tuple[Allocation, Catalog, float, int]


class ProvisionerContract:
    """Tests of any provisioner. A subclass gives the argument `provisioner`: one, or one after the
    other, by `pytest.mark.parametrize("provisioner", [...])` or a fixture of that name.
    """

    examples: ClassVar[int] = 100
    """Random cases per test."""

    def test_fits_the_registry(self, provisioner: Provisioner) -> None:
        check_fits("provisioner", provisioner)

    def test_keeps_the_contract(self, provisioner: Provisioner) -> None:
        check_all(cases(), lambda case: check(provisioner, *case), self.examples)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random allocation, a catalog that may hold none of its bundles, and slots to buy."""
    allocation = draw(strategies.allocations(draw(strategies.topologies(largest=4))))
    slot_memory_gb = draw(st.sampled_from([2.0, 4.0]))
    return allocation, draw(strategies.catalogs()), slot_memory_gb, draw(st.integers(1, 60))


def check(
    provisioner: Provisioner,
    allocation: Allocation,
    catalog: Catalog,
    slot_memory_gb: float,
    slots: int,
) -> Cluster | Refusal:
    """Run the provisioner and check all that a provisioner promises; returns its answer."""
    answer = answer_to(provisioner.provision, allocation, catalog, slot_memory_gb, slots)
    fitting = _fitting(catalog, allocation, slot_memory_gb)
    if isinstance(answer, Refusal):
        check_refusal(provisioner, answer)
        assert not fitting, f"refused, although {fitting[0].name} holds every bundle"
    else:
        check_cluster(answer, fitting, slot_memory_gb, slots)
    return answer


def check_cluster(
    answer: Cluster, fitting: list[VmType], slot_memory_gb: float, slots: int
) -> None:
    """Enough slots, and every node is a type of the catalog that holds any bundle."""
    assert answer.slots >= slots, "too few slots"
    assert answer.slot_memory_gb == slot_memory_gb
    types = {vm.name: vm for vm in fitting}
    for node in answer.nodes:
        assert node.type in types, f"{node.type} does not hold every bundle"
        vm = types[node.type]
        assert (node.slots, node.memory_gb, node.price_per_hour, node.speed) == (
            vm.slots,
            vm.memory_gb,
            vm.price_per_hour,
            vm.speed,
        )


def _fitting(catalog: Catalog, allocation: Allocation, slot_memory_gb: float) -> list[VmType]:
    """The types whose slots hold any one bundle of the allocation; if no type has slots with the
    memory, those whose machines have it.
    """
    bundles = [bundle for entry in allocation for bundle in entry.bundles]
    most_cpu = max(bundle.cpu for bundle in bundles) - TOLERANCE
    most_gb = max(bundle.mem for bundle in bundles) * slot_memory_gb - TOLERANCE
    fast = [vm for vm in catalog if vm.speed >= most_cpu]
    roomy = [vm for vm in fast if vm.slot_memory_gb >= most_gb]
    return roomy or [vm for vm in fast if vm.memory_gb >= most_gb]
