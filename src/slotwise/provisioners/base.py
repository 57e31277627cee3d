"""provision(allocation, catalog, slot_memory_gb, slots) -> Cluster: which machines to buy?

A provisioner is a frozen dataclass: its fields are its options, each with a default. Who calls it,
in which order, and what its answer causes:

1. `registry.provisioner` makes it from its name and options, once per plan, and only where the
   pipeline has a catalog: with a fixed cluster nothing is bought.
2. The planner calls `provision` after the allocator, first with the fewest slots possible (what
   the allocation pays for, or the topology's workers if these are more), then again with more
   each time that the placer refuses, until it places or its refusal is final.
3. A Cluster goes to the placer, cut to its first `slots` slots, so the order of the nodes decides
   which slots are seen first. The plan's cost is the cluster's, every node of it.
   A Refusal ends planning with its explanation: the planner does not try again.

More slots may bring other machines, not only more of them: the placer starts anew each time.
The same arguments give the same answer, and the arguments are not changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from slotwise.model import Allocation, Cluster, Node, Refusal, VmType

Catalog = tuple[VmType, ...]


class Provisioner(Protocol):
    """One way to buy machines."""

    @property
    def name(self) -> str:
        """As in spec files and on the command line."""
        ...

    def provision(
        self, allocation: Allocation, catalog: Catalog, slot_memory_gb: float, slots: int
    ) -> Cluster | Refusal:
        """Machines of the catalog with at least `slots` slots, or why none of its types fits.

        Each slot must hold any one bundle of the allocation; where no type has slots with so much
        memory, each machine must. `slot_memory_gb` is the memory of the reference slot, in which
        bundles are measured.
        """
        ...


class ChoosingProvisioner(ABC):
    """A provisioner that only chooses: types too small for a bundle are left out beforehand."""

    name: ClassVar[str]

    @abstractmethod
    def choose(self, types: Catalog, slots: int) -> Sequence[VmType]:
        """The type of each machine to buy, in the cluster's order: together `slots` slots or more.

        `types` are those of the catalog that hold any bundle, at least one.
        """

    def provision(
        self, allocation: Allocation, catalog: Catalog, slot_memory_gb: float, slots: int
    ) -> Cluster | Refusal:
        types = types_that_fit(self.name, allocation, catalog, slot_memory_gb)
        if isinstance(types, Refusal):
            return types
        return bought(self.choose(types, slots), slot_memory_gb)


def types_that_fit(
    algorithm: str, allocation: Allocation, catalog: Catalog, slot_memory_gb: float
) -> Catalog | Refusal:
    """The types whose slots hold the allocation's largest bundle.

    Where none has slots with so much memory, the types whose machines have it: some placers bound
    the memory of machines (paper 3) or none; those that bound it by the slot refuse by themselves.
    """
    bundles = [(b, entry.operator) for entry in allocation for b in set(entry.bundles)]
    largest_cpu, cpu_operator = max((b.cpu, operator) for b, operator in bundles)
    largest_mem, mem_operator = max((b.mem, operator) for b, operator in bundles)
    fitting = [t for t in catalog if t.speed >= largest_cpu - 1e-9]
    if not fitting:
        most = max(t.speed for t in catalog)
        return _no_type(algorithm, cpu_operator, "cpu", largest_cpu, most)
    memory_gb = (largest_mem - 1e-9) * slot_memory_gb
    roomy = [t for t in fitting if t.slot_memory_gb >= memory_gb]
    roomy = roomy or [t for t in fitting if t.memory_gb >= memory_gb]
    if not roomy:
        most = max(t.memory_gb for t in fitting) / slot_memory_gb
        return _no_type(algorithm, mem_operator, "memory", largest_mem, most)
    return tuple(roomy)


def bought(types: Sequence[VmType], slot_memory_gb: float) -> Cluster:
    """One node per entry, named after its type: d3-1, d3-2, d1-1."""
    seen: dict[str, int] = {}
    nodes = []
    for vm in types:
        seen[vm.name] = seen.get(vm.name, 0) + 1
        name = f"{vm.name.lower()}-{seen[vm.name]}"
        nodes.append(Node(name, vm.slots, vm.memory_gb, vm.price_per_hour, vm.speed, type=vm.name))
    return Cluster(tuple(nodes), slot_memory_gb)


def _no_type(algorithm: str, operator: str, resource: str, needed: float, most: float) -> Refusal:
    largest = "fastest slot" if resource == "cpu" else "largest machine"
    return Refusal(
        algorithm,
        f"no machine type in the catalog fits a thread of '{operator}': it needs {needed:.2f} "
        f"slots of {resource}, and the {largest} has {most:.2f}",
        operator=operator,
        resource=resource,
        missing=needed - most,
        final=True,
    )
