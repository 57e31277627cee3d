"""provision(allocation, catalog) -> Cluster: which machines hold so many slots?

The planner calls it after the allocator, and again with one slot more each time the placer
refuses.
"""

from __future__ import annotations

from typing import Protocol

from slotwise.model import Cluster, Refusal, VmType


class Provisioner(Protocol):
    """One way to buy machines."""

    @property
    def name(self) -> str: ...

    def provision(
        self, slots: int, catalog: tuple[VmType, ...], slot_memory_gb: float
    ) -> Cluster | Refusal:
        """Machines with at least `slots` slots."""
        ...
