"""place(topology, allocation, cluster, traffic) -> Placement: which thread runs in which slot?

The planner calls a placer with the cluster cut to the slots it may use. A Placement puts every
thread in one slot. A Refusal says which thread did not fit and what was missing; the planner
then adds a slot and calls again, unless the refusal is `final`. Options are the fields of the
placer. A placer never changes its arguments, and gives the same answer to the same input.
"""

from __future__ import annotations

from typing import Literal, Protocol

from slotwise.model import Allocation, Cluster, Placement, Refusal, Topology, Traffic

Guarantee = Literal["slot-cpu", "slot-memory", "node-cpu", "node-memory"]
"""A capacity that a placer never exceeds, counted in what the allocation charges:
even shares per thread (`Allocation.thread_cpu`), or bundles where the placer keeps them whole."""


class Placer(Protocol):
    """One way to place threads."""

    @property
    def name(self) -> str: ...

    @property
    def guarantees(self) -> frozenset[Guarantee]: ...

    def place(
        self, topology: Topology, allocation: Allocation, cluster: Cluster, traffic: Traffic
    ) -> Placement | Refusal: ...
