"""The cheapest machines that have the slots, over a mixed catalog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.model import Allocation, Cluster, Refusal, VmType
from slotwise.provisioners._base import bought, types_that_fit


@dataclass(frozen=True)
class Cheapest:
    """Exact, by dynamic programming over the number of slots still to hold; among equally cheap
    sets the one with the fewest machines. Time O(slots × types).
    """

    name: ClassVar[str] = "cheapest"

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
        # best[n]: (price, machines) of the cheapest set with at least n slots; choice[n]: its last.
        best = [(0.0, 0)]
        choice: list[VmType] = [types[0]]
        for held in range(1, slots + 1):
            options = []
            for position, vm in enumerate(types):
                price, machines = best[max(0, held - vm.slots)]
                options.append((price + vm.price_per_hour, machines + 1, position))
            price, machines, position = min(options)
            best.append((price, machines))
            choice.append(types[position])
        chosen = []
        left = slots
        while left > 0:
            chosen.append(choice[left])
            left -= choice[left].slots
        chosen.sort(key=lambda vm: (-vm.slots, vm.name))
        return bought(chosen, slot_memory_gb)
