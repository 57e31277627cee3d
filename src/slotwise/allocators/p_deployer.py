"""P-Deployer's minimal parallelism: the largest of four bounds (paper 3, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slotwise.allocators.base import Demand, PerOperatorAllocator, too_many
from slotwise.model import Bundle, OperatorAllocation, Profiles, Refusal, TaskCosts, whole
from slotwise.model.profile import POINTS_PER_CORE


@dataclass(frozen=True)
class PDeployer(PerOperatorAllocator):
    """Threads = the largest of the CPU, I/O, sojourn and memory bounds, at least 1; the bound that
    wins names the operator's type. CPU is charged for processing only: what is sent and received
    over the network depends on the placement (`transfer_cpu`). O(operators).
    """

    name: ClassVar[str] = "p-deployer"

    def size(self, demand: Demand, profiles: Profiles) -> OperatorAllocation | Refusal:
        costs = profiles.costs(demand.operator, demand.sent_per_tuple)
        bound, thread_rate = min(costs.bounds.items(), key=lambda item: item[1])
        wanted = demand.arriving / thread_rate
        if refusal := too_many(self.name, demand.operator, wanted, thread_rate):
            return refusal
        threads = max(1, whole(wanted))
        cpu = demand.arriving * costs.cpu_points / POINTS_PER_CORE
        mem = (demand.arriving + demand.leaving) * costs.memory_mb / profiles.slot_memory_mb
        reason = f"{bound} bound: {demand.arriving:g} tuples/s at {thread_rate:g} per thread"
        if profiles.derived(demand.operator, TaskCosts):
            reason += " (task costs derived from the profile; transfer cost taken as 0)"
        return OperatorAllocation(
            demand.operator,
            demand.arriving,
            (Bundle(1, cpu / threads, mem / threads),) * threads,
            reason,
            transfer_cpu=costs.transfer_points / POINTS_PER_CORE,
        )
