"""Linear scaling: every thread does what one thread alone in a slot did (paper 1, section 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.allocators._base import Demand, allocate_each, too_many
from slotwise.model import Allocation, Bundle, OperatorAllocation, Profiles, Refusal, Topology


@dataclass(frozen=True)
class Lsa:
    """While the rate left is at least one thread's rate, add a thread with its CPU and memory;
    a remainder adds one thread, charged in proportion. The baseline. O(operators).
    """

    name: ClassVar[str] = "lsa"

    def allocate(self, topology: Topology, profiles: Profiles, rate: float) -> Allocation | Refusal:
        def size(demand: Demand) -> OperatorAllocation | Refusal:
            one = profiles.table(demand.operator).at(1)
            threads = demand.arriving / one.rate
            if refusal := too_many(self.name, demand.operator, threads, one.rate):
                return refusal
            full = int(threads + 1e-9)
            bundles = (Bundle(1, one.cpu, one.mem),) * full
            rest = threads - full
            if rest > 1e-9:
                bundles += (Bundle(1, one.cpu * rest, one.mem * rest),)
            reason = f"{demand.arriving:g} tuples/s over {one.rate:g} per thread"
            return OperatorAllocation(demand.operator, demand.arriving, bundles, reason)

        return allocate_each(self.name, topology, profiles, rate, size)
