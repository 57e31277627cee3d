"""Linear scaling: every thread is as fast as one thread alone in a slot (paper 1, section 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.allocators.base import Demand, PerOperatorAllocator, too_many
from slotwise.model import Bundle, OperatorAllocation, Profiles, Refusal


@dataclass(frozen=True)
class Lsa(PerOperatorAllocator):
    """While the rate left is at least one thread's rate, add a thread with its CPU and memory;
    a remainder adds one thread, charged in proportion. The baseline. O(operators).
    """

    name: ClassVar[str] = "lsa"

    def size(self, demand: Demand, profiles: Profiles) -> OperatorAllocation | Refusal:
        one = profiles.table(demand.operator, demand.sent_per_tuple).at(1)
        threads = demand.arriving / one.rate
        if refusal := too_many(self.name, demand.operator, threads, one.rate):
            return refusal
        full = int(threads + 1e-9)
        bundles = (Bundle(1, one.cpu, one.mem),) * full
        rest = threads - full
        if rest > 1e-9 or not full:
            bundles += (Bundle(1, one.cpu * rest, one.mem * rest),)
        reason = f"{demand.arriving:g} tuples/s at {one.rate:g} per thread"
        return OperatorAllocation(demand.operator, demand.arriving, bundles, reason)
