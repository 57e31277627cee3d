"""Trials: what an operator did in a slot of its own, and what they say of it together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slotwise.model import ProfileForms, SlotwiseError, ThreadRow

Distance = Literal["slot", "node", "cluster"]
"""Where a neighbour is: in the operator's own slot, in another of its node, on another node."""


@dataclass(frozen=True)
class Trial:
    """So many threads of an operator in one slot, at one input rate.

    CPU and memory are the slot's, above those of an idle one, without what neighbours in the slot
    took.
    """

    operator: str
    threads: int
    offered_rate: float | None
    """Tuples/s; None: more than the operator can take."""
    rate: float
    """Tuples/s that it handled."""
    emitted_rate: float
    cpu_cores: float
    memory_mb: float | None
    """Live heap; None: not measured in this trial."""
    service_ms: float | None
    service_scv: float | None
    latency_ms: float | None
    latency_slope: float | None
    """Growth of the latency, ms per second."""
    stable: bool
    spread: float
    """Relative standard deviation of the rate from second to second."""
    seconds: float
    """How long was measured, without the warm-up."""
    source: Distance = "cluster"
    """Where its input came from."""
    next_hop: Distance = "cluster"
    """Where its output went."""

    def memory_part(self, slot_memory_mb: float) -> float:
        """Memory as a part of the slot's. Raises SlotwiseError if it was not measured."""
        if self.memory_mb is None:
            raise SlotwiseError(f"the memory of operator '{self.operator}' was not measured")
        return self.memory_mb / slot_memory_mb


@dataclass(frozen=True)
class Peak:
    """The highest stable rate of one thread count, with the trials that showed it."""

    threads: int
    confirmed: Trial
    """The stable trial at the highest rate."""
    tried: tuple[Trial, ...]
    """All of them, in order, `confirmed` included."""
    remark: str | None = None
    """What a reader must know of it, one sentence."""


@dataclass(frozen=True)
class Profiled:
    """An operator's profile and what it rests on."""

    operator: str
    profile: ProfileForms
    peaks: tuple[Peak, ...]
    """By rising thread count."""
    costs_trials: tuple[Trial, ...] = ()
    """With neighbours at other distances, for the costs per tuple."""
    selectivity: float | None = None
    """Tuples emitted for each that it handled."""
    remarks: tuple[str, ...] = ()
    """What a reader must know, one sentence each."""

    @property
    def rows(self) -> tuple[ThreadRow, ...]:
        assert self.profile.table is not None
        return self.profile.table.rows
