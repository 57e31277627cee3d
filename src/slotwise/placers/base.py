"""place(problem) -> Placement: which thread runs in which slot?

The planner calls a placer with the cluster cut to the slots it may use. A Placement puts every
thread in one slot. A Refusal says which thread did not fit and what was missing; the planner
then adds a slot and calls again, unless the refusal is `final`. Options are the fields of the
placer. A placer never changes its problem, and gives the same answer to the same problem.

When a running plan is planned again, the problem also holds the placement in effect and the
traffic that was measured under it. `traffic` uses both, `partition` the measured traffic; the other
placers ignore them and place as if for the first time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Allocation, Cluster, Placement, Refusal, ThreadTraffic, Topology
from slotwise.rates import arrival_rates

Guarantee = Literal["slot-cpu", "slot-memory", "node-cpu", "node-memory"]
"""A capacity that a placer never exceeds, counted in what the allocation charges:
even shares per thread (`Allocation.thread_cpu`), or bundles where the placer keeps them whole."""


@dataclass(frozen=True)
class PlacementProblem:
    """What a placer decides on. Derived figures are computed when they are first asked for."""

    topology: Topology
    allocation: Allocation
    cluster: Cluster
    current: Placement | None = None
    """The placement in effect, with its slots numbered as in `cluster`; -1: a slot that the cluster
    does not have. Operators may have other numbers of threads than in `allocation`."""
    measured: ThreadTraffic | None = None
    """The traffic that was measured, between the threads of `allocation`."""

    @cached_property
    def stream_rates(self) -> NDArray[np.float64]:
        """Tuples/s on each stream at the planned rate, every copy of `all` grouping counted."""
        threads = self.allocation.threads
        return arrival_rates(self.topology, self.allocation.rate, threads).streams

    @cached_property
    def thread_traffic(self) -> ThreadTraffic:
        """The measured traffic, or else each stream divided evenly over its pairs of threads.

        Time and memory: the number of pairs.
        """
        if self.measured is not None:
            return self.measured
        return ThreadTraffic.divided_evenly(self.topology, self.allocation, self.stream_rates)


class Placer(Protocol):
    """One way to place threads."""

    @property
    def name(self) -> str: ...

    @property
    def guarantees(self) -> frozenset[Guarantee]: ...

    def place(self, problem: PlacementProblem) -> Placement | Refusal: ...
