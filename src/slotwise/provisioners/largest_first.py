"""As many of the largest machines as the slots fill, then the smallest that holds the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.model import VmType
from slotwise.provisioners.base import Catalog, ChoosingProvisioner


@dataclass(frozen=True)
class LargestFirst(ChoosingProvisioner):
    """Paper 1's provisioning (section 7). O(types + machines)."""

    name: ClassVar[str] = "largest-first"

    def choose(self, types: Catalog, slots: int) -> list[VmType]:
        largest = max(types, key=lambda vm: (vm.slots, -vm.price_per_hour, vm.name))
        whole_machines, rest = divmod(slots, largest.slots)
        chosen = [largest] * whole_machines
        if rest:
            holding = [vm for vm in types if vm.slots >= rest]
            chosen.append(min(holding, key=lambda vm: (vm.slots, vm.price_per_hour, vm.name)))
        return chosen
