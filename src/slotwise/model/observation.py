"""What a plan does: predicted, simulated or measured, always in the same shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Origin = Literal["predicted", "simulated", "measured"]


@dataclass(frozen=True)
class OperatorLoad:
    """One operator at work. `capacity` is the most tuples/s it could handle where it is."""

    operator: str
    arrival_rate: float
    capacity: float
    utilisation: float
    waiting_ms: float
    service_ms: float


@dataclass(frozen=True)
class SlotLoad:
    """CPU and memory in use, as fractions of what the slot or node has."""

    name: str
    cpu: float
    mem: float


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A topology at one input rate on one placement.

    A latency that has no bound (an operator is asked for more than it can do) is infinite.
    """

    origin: Origin
    input_rate: float
    """Tuples/s offered to the topology."""
    rate: float
    """The highest input rate, tuples/s, that is (predicted, seen) to be sustained."""
    latency_ms: float
    """Mean time from a tuple's arrival to the end of all it causes."""
    network_ms: float
    """The part of `latency_ms` spent between slots."""
    operators: tuple[OperatorLoad, ...]
    slots: tuple[SlotLoad, ...]
    nodes: tuple[SlotLoad, ...]
    inter_slot_traffic: float
    """Tuples/s that leave their slot."""
    inter_node_traffic: float
    """Tuples/s that leave their node."""

    @property
    def fully_busy(self) -> tuple[str, ...]:
        """The operators whose queue never empties, so that a tuple's wait has no bound."""
        return tuple(o.operator for o in self.operators if math.isinf(o.waiting_ms + o.service_ms))

    @property
    def latency_told(self) -> str:
        """The latency for people: `12.3 ms`, or which operators leave it without a bound."""
        if math.isfinite(self.latency_ms):
            return f"{self.latency_ms:,.1f} ms"
        verb = "is" if len(self.fully_busy) == 1 else "are"
        return f"unbounded: {', '.join(self.fully_busy)} {verb} fully busy"


@dataclass(frozen=True, kw_only=True)
class Prediction(Observation):
    """What the models say, under each way of routing tuples to threads.

    `rate` is the one that the topology's own groupings give.
    """

    proportional_rate: float
    """If every slot got tuples in proportion to its capacity (the plan's weights do that)."""
    shuffle_rate: float
    """If every thread got the same share."""
    bottleneck: str
    """The operator that limits `rate`."""
    thread_queues_ms: float
    """`latency_ms` where every thread has its own queue, as in Spark and Storm; `latency_ms` itself
    takes one queue per operator, as paper 5 does."""
