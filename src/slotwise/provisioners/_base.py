"""provision(allocation, catalog) -> Cluster: which machines hold the allocation's slots?

The planner calls it after the allocator, and again with one extra slot more each time the placer
refuses. The order of the nodes is the order in which placers see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from slotwise.model import Allocation, Cluster, Node, Refusal, VmType


class Provisioner(Protocol):
    """One way to buy machines."""

    @property
    def name(self) -> str: ...

    def provision(
        self,
        allocation: Allocation,
        catalog: tuple[VmType, ...],
        slot_memory_gb: float,
        slots: int,
    ) -> Cluster | Refusal:
        """Machines with at least `slots` slots, each slot large enough for any one bundle."""
        ...


def types_that_fit(
    algorithm: str, allocation: Allocation, catalog: tuple[VmType, ...], slot_memory_gb: float
) -> tuple[VmType, ...] | Refusal:
    """The types whose slots hold the allocation's largest bundle."""
    bundles = [(b, entry.operator) for entry in allocation for b in set(entry.bundles)]
    largest_cpu, cpu_operator = max((b.cpu, operator) for b, operator in bundles)
    largest_mem, mem_operator = max((b.mem, operator) for b, operator in bundles)
    fitting = [t for t in catalog if t.speed >= largest_cpu - 1e-9]
    if not fitting:
        most = max(t.speed for t in catalog)
        return _no_type(algorithm, cpu_operator, "cpu", largest_cpu, most)
    roomy = tuple(t for t in fitting if t.slot_memory_gb / slot_memory_gb >= largest_mem - 1e-9)
    if not roomy:
        most = max(t.slot_memory_gb for t in fitting) / slot_memory_gb
        return _no_type(algorithm, mem_operator, "memory", largest_mem, most)
    return roomy


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
    return Refusal(
        algorithm,
        f"no machine type in the catalog fits a thread of '{operator}': it needs {needed:.2f} "
        f"slots of {resource}, the largest slot has {most:.2f}",
        operator=operator,
        resource=resource,
        missing=needed - most,
        final=True,
    )
