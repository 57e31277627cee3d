"""allocate(topology, profiles, rate) -> Allocation: how many threads does each operator need?

The planner calls an allocator first, once per plan. Its answer decides how many slots are
bought; the placer must place exactly its threads. Options are the fields of the allocator.
"""

from __future__ import annotations

from typing import Protocol

from slotwise.model import Allocation, Profiles, Refusal, Topology


class Allocator(Protocol):
    """One way to size operators. The same input gives the same answer."""

    @property
    def name(self) -> str: ...

    def allocate(self, topology: Topology, profiles: Profiles, rate: float) -> Allocation | Refusal:
        """Threads for `rate` input tuples/s, or why no number of threads will do."""
        ...
