"""What a plan does: predicted, simulated or measured, always in the same shape and units.

Every figure has one meaning, whatever its origin. What an origin does not know is None: never NaN,
never 0. Infinity is knowledge: a queue that is asked for more than it can do has no bounded wait.

Rates of the whole pipeline (`offered_rate`, `throughput`, `capacity`) are *input rates*, in the
unit of `--rate` and `goals.rate`: each source emits that many tuples/s times its share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from slotwise.model.traffic import ThreadTraffic

Origin = Literal["predicted", "simulated", "measured"]


@dataclass(frozen=True)
class OperatorLoad:
    """One operator at work, all its threads together."""

    operator: str
    arrival_rate: float
    """Tuples/s that it takes in; of a source, that it emits on its own account."""
    emitted_rate: float | None
    """Tuples/s that it sends on all its streams, every copy counted."""
    capacity: float | None
    """The most tuples/s that it could handle where it is; infinite for a fixed load."""
    utilisation: float
    """Mean utilisation of its threads; see ThreadLoad."""
    waiting_ms: float | None
    """Mean time a tuple waits before it is handled. On Spark, the way to the operator included."""
    service_ms: float | None
    network_ms: float | None = None
    """Mean time a tuple travels to this operator."""
    service_scv: float | None = None
    """Squared coefficient of variation of the service time."""
    cpu: float | None = None
    """Cores in use, all threads together."""
    queue: float | None = None
    """Mean number of tuples waiting, all threads together."""
    lost: int = 0
    """Tuples dropped at full buffers for good."""
    resent: int = 0
    """Times a tuple was sent again because the buffer was full."""
    failed: int = 0
    """Tuples on which the operator's logic failed, and which were skipped."""


@dataclass(frozen=True)
class StreamLoad:
    """One stream at work, in the topology's order of streams."""

    source: str
    target: str
    rate: float | None
    """Tuples/s sent on it, every copy of `all` grouping counted."""
    selectivity: float | None
    """Tuples sent per tuple that the source operator handled; copies count as one."""


@dataclass(frozen=True)
class SlotLoad:
    """CPU and memory in use, as fractions of what the slot or node has; None: no report of it."""

    name: str
    cpu: float | None
    mem: float | None


@dataclass(frozen=True)
class LinkLoad:
    """The network links of one node: one out, one in.

    A utilisation is the time that tuples need the link per second, in seconds: above 1 it cannot
    keep up. Tuples from other nodes wait for the link in, in the node's receive buffer.
    """

    node: str
    out_utilisation: float
    in_utilisation: float
    held: float
    """Mean number of tuples in the receive buffer, the one on the link included."""
    most_held: int
    lost: int
    """Tuples dropped at the full receive buffer for good; also in their operators' `lost`."""
    resent: int
    """Times a tuple was sent again because the receive buffer was full; likewise."""


@dataclass(frozen=True)
class ThreadLoad:
    """Thread `thread` of an operator.

    `utilisation` is the work it is asked for per second, in seconds: above 1 it cannot keep up.
    """

    operator: str
    thread: int
    slot: str
    arrival_rate: float
    utilisation: float


@dataclass(frozen=True)
class TimeSeries:
    """Figures per window of `window_s` seconds, from the Observation's first window on."""

    window_s: float
    offered_rate: tuple[float, ...]
    """Input tuples/s that came due in the window."""
    latency_ms: tuple[float | None, ...]
    """As Observation.latency_ms, of the inputs that came due in the window; None: none ended."""
    sojourn_ms: tuple[float | None, ...]
    """As Observation.sojourn_ms, likewise."""
    handled_rate: dict[str, tuple[float, ...]]
    """Per operator, tuples/s whose handling ended in the window."""
    queue: dict[str, tuple[float, ...]]
    """Per operator, the mean number of tuples waiting in the window; empty: not known."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """A topology at one input rate on one placement.

    A latency without a bound (a thread is asked for more than it can do) is infinite in a
    prediction; a simulation or measurement gives what it saw, and `stable` is False.
    """

    origin: Origin
    start_s: float | None = None
    """When the observed window began, in seconds of the run's own clock; a prediction has none."""
    end_s: float | None = None
    offered_rate: float
    """The input rate that sources were asked for."""
    throughput: float | None
    """Inputs per second that the whole pipeline finishes: the lowest, over its sinks, of tuples
    out ÷ tuples that one input causes there."""
    capacity: float | None
    """The highest input rate that this placement sustains. None in a run that was not saturated,
    and the throughput in one that was."""
    backlog: float | None = None
    """Input tuples that were due at the end of the window and not yet taken in."""
    stable: bool | None
    """False: some thread or link is asked for more than it can do; see `is_stable`."""
    busiest: float | None = None
    """The highest utilisation of all threads and links, in a prediction of all slots' CPU, too: the
    work it is asked for per second, in seconds. `stable` is `is_stable` of it."""
    bottleneck: str | None
    """The operator with the thread that is asked for most: the one that limits the capacity."""

    latency_ms: float | None
    """Mean time from an input's due time to the end of each tuple that it causes at a sink: an
    operator without outputs. None where nothing ends at one."""
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    """The part of all tuples at sinks that were that fast; of a run within 0.8 %."""
    latency_slope: float | None = None
    """Growth of `latency_ms` over the window, ms per second."""
    sojourn_ms: float | None
    """Jackson's E[T]: waiting, service and network time of all tuples that an input causes, its
    own included, added up."""
    sojourn_margin_ms: float | None = None
    """Half the 95 % confidence interval of `sojourn_ms`, from batch means."""
    network_ms: float | None
    """The part of `sojourn_ms` spent between slots."""

    operators: tuple[OperatorLoad, ...]
    streams: tuple[StreamLoad, ...]
    threads: tuple[ThreadLoad, ...] = ()
    slots: tuple[SlotLoad, ...]
    """All slots of the cluster, also those that hold no thread."""
    nodes: tuple[SlotLoad, ...]
    """All nodes of the cluster."""
    links: tuple[LinkLoad, ...] = ()
    """All nodes of the cluster; empty: links have no limit, or are not measured."""
    cost_per_hour: float
    """What the cluster's nodes cost."""
    inter_slot_traffic: float | None
    """Tuples/s that leave their slot."""
    inter_node_traffic: float | None
    """Tuples/s that leave their node."""
    thread_traffic: ThreadTraffic | None = None
    """Tuples/s between threads, numbered as in the Allocation."""
    slot_traffic: ThreadTraffic | None = None
    """Tuples/s between slots, numbered as in the Cluster."""
    node_traffic: ThreadTraffic | None = None
    """Tuples/s between nodes, by their position in the Cluster."""
    series: TimeSeries | None = None
    seed: int | None = None
    """Of a simulation's random numbers."""
    remarks: tuple[str, ...] = ()
    """What a reader must know: why it is unstable, what was cut short, a deadlock."""

    def _repr_html_(self) -> str:
        """Notebooks show this."""
        from slotwise.report.html import observation_html

        return observation_html(self)

    @property
    def machines(self) -> int:
        return len(self.nodes)

    @property
    def latency_text(self) -> str:
        """The latency for people: `12.3 ms`, or which operators leave it without a bound."""
        if self.latency_ms is None:
            return "not known"
        if math.isfinite(self.latency_ms):
            return f"{self.latency_ms:,.1f} ms"
        verb = "is" if len(self.fully_busy) == 1 else "are"
        return f"unbounded: {', '.join(self.fully_busy)} {verb} fully busy"

    @property
    def fully_busy(self) -> tuple[str, ...]:
        """The operators whose queue never empties, so that a tuple's wait has no bound."""
        return tuple(load.operator for load in self.operators if load.waiting_ms == math.inf)


@dataclass(frozen=True, kw_only=True)
class Prediction(Observation):
    """What the models say, under each way of routing tuples to threads.

    `capacity` is the one that the topology's own groupings give.
    """

    capacity: float
    busiest: float
    bottleneck: str
    sojourn_ms: float
    proportional_capacity: float
    """If every slot got tuples in proportion to its capacity (the plan's weights do that)."""
    shuffle_capacity: float
    """If every thread got the same share."""
    shared_queue_latency_ms: float | None
    """`latency_ms` if the threads of an operator shared one queue, as paper 5 assumes. All other
    figures take one queue per thread, as Spark and Storm have."""
    shared_queue_sojourn_ms: float
    """`sojourn_ms` likewise: paper 5's E[T], and what DRS sizes for."""


ASKED_TOO_MUCH = 1.01
"""A thread that is asked for more than this many seconds of work per second cannot keep up. One
percent is what counts by chance differ in a run."""


def is_stable(asked: float) -> bool:
    """The one definition of `stable`: no thread, and no link, is asked for more than it can do.

    `asked` is the highest utilisation of all of them: the work that arrives per second, in seconds,
    whether or not it was done. It does not depend on how long the run was or where its warm-up
    ended.

    >>> is_stable(0.99), is_stable(1.04)
    (True, False)
    """
    return asked <= ASKED_TOO_MUCH
