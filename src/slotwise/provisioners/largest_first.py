"""As many of the largest machines as the slots fill, then the smallest that holds the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.model import Allocation, Cluster, Refusal, VmType
from slotwise.provisioners._base import bought, types_that_fit


@dataclass(frozen=True)
class LargestFirst:
    """Paper 1's provisioning (section 7). O(types + machines)."""

    name: ClassVar[str] = "largest-first"

    def provision(
        self,
        allocation: Allocation,
        catalog: tuple[VmType, ...],
        slot_memory_gb: float,
        slots: int,
    ) -> Cluster | Refusal:
        types = types_that_fit(self.name, allocation, catalog, slot_memory_gb)
        if isinstance(types, Refusal):
            return types
        largest = max(types, key=lambda vm: (vm.slots, -vm.price_per_hour, vm.name))
        whole_machines, rest = divmod(slots, largest.slots)
        chosen = [largest] * whole_machines
        if rest:
            holding = [vm for vm in types if vm.slots >= rest]
            chosen.append(min(holding, key=lambda vm: (vm.slots, vm.price_per_hour, vm.name)))
        return bought(chosen, slot_memory_gb)
