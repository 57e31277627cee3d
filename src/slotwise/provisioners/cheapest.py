"""The cheapest machines that have the slots, over a mixed catalog."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from slotwise.model import VmType
from slotwise.provisioners.base import Catalog, ChoosingProvisioner


@dataclass(frozen=True)
class Cheapest(ChoosingProvisioner):
    """Exact, by dynamic programming over the number of slots still to hold; among equally cheap
    sets the one with the fewest machines. Time O(slots × types).
    """

    name: ClassVar[str] = "cheapest"

    def choose(self, types: Catalog, slots: int) -> Sequence[VmType]:
        return _cheapest(types, slots)


@functools.lru_cache(maxsize=256)
def _cheapest(types: Catalog, slots: int) -> Sequence[VmType]:
    """A search asks for the same slots again and again."""
    # best[n]: (price, machines) of the cheapest set with at least n slots; last[n]: its last.
    best = [(0.0, 0)]
    last = [types[0]]
    for held in range(1, slots + 1):
        options = []
        for position, vm in enumerate(types):
            price, machines = best[max(0, held - vm.slots)]
            options.append((price + vm.price_per_hour, machines + 1, position))
        price, machines, position = min(options)
        best.append((price, machines))
        last.append(types[position])
    chosen = []
    left = slots
    while left > 0:
        chosen.append(last[left])
        left -= last[left].slots
    return tuple(sorted(chosen, key=lambda vm: (-vm.slots, vm.name)))
