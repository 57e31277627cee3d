"""What a plan does: predicted, simulated or measured, always in the same shape.

What an origin cannot tell is left at its default: a prediction has no time series, say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from slotwise.model.traffic import ThreadTraffic

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
    network_ms: float = 0.0
    """Mean time a tuple travels to this operator."""
    queue: float | None = None
    """Mean number of tuples waiting, all threads together."""
    lost: int = 0
    """Tuples dropped at full buffers for good."""
    resent: int = 0
    """Times a tuple was sent again because the buffer was full."""


@dataclass(frozen=True)
class SlotLoad:
    """CPU and memory in use, as fractions of what the slot or node has."""

    name: str
    cpu: float
    mem: float


@dataclass(frozen=True)
class ThreadLoad:
    """Thread `thread` of an operator; utilisation above 1 is work it cannot keep up with."""

    operator: str
    thread: int
    slot: str
    arrival_rate: float
    utilisation: float


@dataclass(frozen=True)
class TimeSeries:
    """Figures per window of `window_s` seconds, from the start of the run on."""

    window_s: float
    input_rate: tuple[float, ...]
    """Tuples/s that arrived from outside in the window."""
    latency_ms: tuple[float | None, ...]
    """As Observation.latency_ms, of the inputs that arrived in the window; None: none did."""
    sink_latency_ms: tuple[float | None, ...]
    """As Observation.sink_latency_ms, of the inputs that arrived in the window."""
    throughput: dict[str, tuple[float, ...]]
    """Per operator, tuples/s whose handling ended in the window."""
    queue: dict[str, tuple[float, ...]]
    """Per operator, the mean number of tuples waiting in the window: what its buffers hold."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A topology at one input rate on one placement.

    A latency that has no bound (an operator is asked for more than it can do) is infinite in a
    prediction; a simulation or measurement gives what it saw, and `stable` is False.
    """

    origin: Origin
    input_rate: float
    """Tuples/s offered to the topology."""
    rate: float
    """The highest input rate, tuples/s, that is (predicted, seen) to be sustained."""
    latency_ms: float
    """Mean time from a tuple's arrival to the end of all it causes: Jackson's E[T], the sum of
    waiting, service and network time over all tuples that an input causes, its own included."""
    network_ms: float
    """The part of `latency_ms` spent between slots."""
    operators: tuple[OperatorLoad, ...]
    slots: tuple[SlotLoad, ...]
    nodes: tuple[SlotLoad, ...]
    inter_slot_traffic: float
    """Tuples/s that leave their slot."""
    inter_node_traffic: float
    """Tuples/s that leave their node."""

    latency_margin_ms: float | None = None
    """Half the 95 % confidence interval of `latency_ms`, from batch means."""
    sink_latency_ms: float | None = None
    """Mean time from an input's arrival to the end of each tuple that it causes at a sink."""
    latency_quantiles: tuple[tuple[float, float], ...] = ()
    """(q, ms): the part q of all tuples at sinks were that fast; within 0.8 %."""
    latency_slope: float | None = None
    """Growth of the latency over time, ms per second, after the warm-up."""
    stable: bool | None = None
    """False: tuples come faster than some thread can handle them; see `bottleneck`."""
    bottleneck: str | None = None
    """The operator that limits `rate`: it has the most utilised thread."""
    threads: tuple[ThreadLoad, ...] = ()
    thread_traffic: ThreadTraffic | None = None
    """Tuples/s between threads, numbered as in the Allocation."""
    slot_traffic: ThreadTraffic | None = None
    """Tuples/s between slots, numbered as in the Cluster."""
    node_traffic: ThreadTraffic | None = None
    """Tuples/s between nodes, by their position in the Cluster."""
    series: TimeSeries | None = None
    remarks: tuple[str, ...] = ()
    """What a reader must know: why it is unstable, what was cut short, a deadlock."""

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
    thread_queues_ms: float
    """`latency_ms` where every thread has its own queue, as in Spark and Storm; `latency_ms` itself
    takes one queue per operator, as paper 5 does."""
