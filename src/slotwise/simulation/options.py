"""What a simulation is given beside the plan: frozen values, checked when they are made.

Lengths are in seconds (`_s`) or milliseconds (`_ms`), sizes in bytes, rates in tuples per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from slotwise.keys import NUMBER
from slotwise.model import ModelError, NetworkDelays, Plan, Schedule

ArrivalKind = Literal["constant", "poisson", "uniform", "trace"]
ServiceKind = Literal["profile", "deterministic", "exponential", "gamma", "lognormal", "samples"]
KeyKind = Literal["uniform", "zipf", "recorded"]


def _check_known(value: str, kind: object, what: str) -> None:
    if value not in get_args(kind):
        raise ModelError(f"unknown {what} '{value}': expected one of {', '.join(get_args(kind))}")


@dataclass(frozen=True)
class Arrivals:
    """When sources emit. Each source thread runs a process of its own.

    `constant`: even intervals, the threads' phases evenly apart. `poisson`: exponential intervals.
    `uniform`: intervals between 0 and twice the mean. `trace`: the recorded times in `trace_s`,
    dealt to the source's threads in turn, stretched to the rate asked for, from the start again
    when they end. Thread i of C emits `1 - spread·(1 - 2i/(C-1))` times the mean (paper 2).
    """

    kind: ArrivalKind = "poisson"
    schedule: Schedule | None = None
    """How the rate of every source changes; None: as each source's own options say."""
    trace_s: tuple[float, ...] = ()
    spread: float = 0.0

    def __post_init__(self) -> None:
        _check_known(self.kind, ArrivalKind, "arrivals")
        if not 0 <= self.spread < 1:
            raise ModelError(
                f"the arrivals' spread is {self.spread}: expected a number ≥ 0 and < 1"
            )
        if (self.kind == "trace") != bool(self.trace_s):
            raise ModelError(
                "'trace_s' is required for arrivals of kind 'trace', and allowed only there"
            )
        if self.trace_s and not (
            len(self.trace_s) > 1
            and list(self.trace_s) == sorted(self.trace_s)
            and self.trace_s[-1] > self.trace_s[0]
        ):
            raise ModelError("invalid trace: expected at least two increasing times in seconds")


@dataclass(frozen=True)
class ServiceTimes:
    """How service times vary around the profile's mean.

    `profile` is gamma with the variation that the operator's profile gives (`service_scv`; 1, that
    is exponential, where it gives none). `scv` is the squared coefficient of variation of `gamma`
    and `lognormal`. `samples` are drawn alike, scaled so that their mean is the profile's.
    """

    distribution: ServiceKind = "profile"
    scv: float | None = None
    samples: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_known(self.distribution, ServiceKind, "service times")
        if (self.distribution in ("gamma", "lognormal")) != (self.scv is not None):
            raise ModelError(
                "'scv' is required for service times gamma and lognormal, and allowed only there"
            )
        if self.scv is not None and not (math.isfinite(self.scv) and self.scv >= 0):
            raise ModelError(f"the service times' scv is {self.scv}: expected a number ≥ 0")
        if (self.distribution == "samples") != bool(self.samples):
            raise ModelError(
                "'samples' is required for service times of kind 'samples', and allowed only there"
            )
        if self.samples and (min(self.samples) < 0 or not math.fsum(self.samples) > 0):
            raise ModelError("invalid recorded service times: expected numbers ≥ 0, not all 0")


@dataclass(frozen=True)
class Keys:
    """What `fields` grouping groups by. A tuple gets its key at the source and carries it on.

    `number` keys, equally likely (`uniform`), or key k as often as 1/k^exponent (`zipf`), or as
    often as `recorded` says. When an operator handles a tuple it passes the key on with
    probability `forwarded`, else it writes a constant of the handling thread's own (paper 2's
    reference workload: ½).
    """

    kind: KeyKind = "uniform"
    number: int = NUMBER
    exponent: float = 1.0
    recorded: tuple[float, ...] = ()
    forwarded: float = 1.0

    def __post_init__(self) -> None:
        _check_known(self.kind, KeyKind, "keys")
        if self.number < 1:
            raise ModelError(f"there are {self.number} keys: expected an integer ≥ 1")
        if (self.kind == "recorded") != bool(self.recorded):
            raise ModelError(
                "'recorded' is required for keys of kind 'recorded', and allowed only there"
            )
        if self.recorded and (min(self.recorded) < 0 or not math.fsum(self.recorded) > 0):
            raise ModelError("invalid recorded key frequencies: expected numbers ≥ 0, not all 0")
        if not 0 <= self.forwarded <= 1:
            raise ModelError(
                f"the probability of forwarding a key is {self.forwarded}: expected 0 to 1"
            )

    def frequencies(self) -> Sequence[float]:
        if self.kind == "recorded":
            return self.recorded
        exponent = self.exponent if self.kind == "zipf" else 0.0
        return [(k + 1) ** -exponent for k in range(self.number)]


@dataclass(frozen=True)
class Routing:
    """Where the model leaves a choice.

    `shuffle`: "round-robin" per sender, as engines do, or "random". `selectivity`: "fixed" spreads
    a stream's tuples evenly (0.5: every second one), "random" draws them: one number per handled
    tuple decides for all streams of its operator, so that streams whose selectivities add up to 1
    get exactly one tuple among them, as in a Jackson network. `queue`: "own", every thread has its
    queue, or "shared", the operator has one and its threads serve it, longest idle first (M/M/k).
    """

    shuffle: Literal["round-robin", "random"] = "round-robin"
    selectivity: Literal["fixed", "random"] = "fixed"
    queue: Literal["own", "shared"] = "own"

    def __post_init__(self) -> None:
        for name, known in (
            ("shuffle", ("round-robin", "random")),
            ("selectivity", ("fixed", "random")),
            ("queue", ("own", "shared")),
        ):
            if getattr(self, name) not in known:
                raise ModelError(
                    f"routing {name} is '{getattr(self, name)}': expected one of {', '.join(known)}"
                )


@dataclass(frozen=True)
class Network:
    """How tuples travel.

    `delays` by distance (None: the pipeline's). `send_ms` and `receive_ms` of a thread's time go
    into each tuple that crosses nodes, on top of the transfer cost in the operator's profile. With
    `bandwidth_mb_per_s` each node has one link out and one in, tuples of `tuple_bytes` queue for
    both. A placement with a communication schedule (paper 4) is followed if `stepwise`: a tuple
    waits for the next time slot in which its node may send to the other, stages one slot apart,
    stall slots at the end of each round; within a node it need not wait. With a bandwidth the
    stages take turns, each in an equal part of the slot, and a tuple is sent if it gets to the
    other node before the next turn's can. `step_ms` is the length of a time slot (None: the longest
    mean service time of any thread, or the least that has room for a tuple of each stage).
    """

    delays: NetworkDelays | None = None
    send_ms: float = 0.0
    receive_ms: float = 0.0
    tuple_bytes: float = 1024.0
    bandwidth_mb_per_s: float | None = None
    stepwise: bool = True
    step_ms: float | None = None

    def __post_init__(self) -> None:
        for name in ("send_ms", "receive_ms", "tuple_bytes"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ModelError(f"network {name} is {value}: expected a number ≥ 0")
        for name in ("bandwidth_mb_per_s", "step_ms"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ModelError(f"network {name} is {value}: expected a number > 0")

    @property
    def link_s(self) -> float:
        """How long a tuple takes on a node's link; 0: links are infinitely fast."""
        bandwidth = self.bandwidth_mb_per_s
        return self.tuple_bytes / (bandwidth * 1e6) if bandwidth else 0.0


@dataclass(frozen=True)
class Buffers:
    """How many tuples may wait at a thread, and at a node's link in.

    `capacity` is how many may wait at a thread (sources excepted) beside the one in service.
    `node_capacity` is how many tuples from other nodes a node's receive buffer holds: those that
    wait for its link in and the one on it (M/D/1/K, K being the capacity); it needs a bandwidth.
    None: any number. When a buffer is full, "block" holds the sender back until there is room (a
    place is taken when the tuple is sent, so tuples on their way count); "lose" drops what arrives,
    and the sender sends it again `resend_after_ms` later, the whole way, until it is taken. Without
    `resend_after_ms` it is gone.
    """

    capacity: int | None = None
    when_full: Literal["block", "lose"] = "block"
    resend_after_ms: float | None = None
    node_capacity: int | None = None

    def __post_init__(self) -> None:
        for name in ("capacity", "node_capacity"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ModelError(f"the buffers' {name} is {value}: expected a number ≥ 1")
        if self.when_full not in ("block", "lose"):
            raise ModelError(f"unknown when_full '{self.when_full}': expected block or lose")
        if self.resend_after_ms is not None and not (
            math.isfinite(self.resend_after_ms) and self.resend_after_ms > 0
        ):
            raise ModelError(f"resend_after_ms is {self.resend_after_ms}: expected a number > 0")
        if self.resend_after_ms is not None and self.when_full == "block":
            raise ModelError("buffers that block lose nothing: remove resend_after_ms")

    @property
    def bounded(self) -> bool:
        return self.capacity is not None or self.node_capacity is not None


@dataclass(frozen=True)
class Speeds:
    """How fast operators and nodes become in mid-run, by name: factors on the speed that profiles
    and cluster give them.

    A tuple takes as long as the speeds say when its service begins, hops included. CPU in use is
    that of busy threads, however fast they are. Nodes that no plan of the run has are allowed.
    """

    operators: Mapping[str, Schedule] = field(default_factory=dict)
    nodes: Mapping[str, Schedule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, schedule in (*self.operators.items(), *self.nodes.items()):
            if min(factor for _, factor in schedule.points) <= 0:
                raise ModelError(f"the speed of '{name}' falls to 0: expected factors > 0")

    @property
    def vary(self) -> bool:
        return bool(self.operators or self.nodes)


@dataclass(frozen=True)
class PlanChange:
    """From `at_s` on, `plan` runs in place of the one before; all threads stand still `pause_s`.

    What was in service starts again. Waiting tuples stay with their thread; where the operator has
    fewer threads than before, thread t's go to thread t mod (its threads now).
    """

    at_s: float
    plan: Plan
    pause_s: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.at_s) and self.at_s > 0):
            raise ModelError(f"a plan change at second {self.at_s}: expected a number > 0")
        if not (math.isfinite(self.pause_s) and self.pause_s >= 0):
            raise ModelError(f"a plan change pauses {self.pause_s} seconds: expected a number ≥ 0")


Kernel = Literal["feed-forward", "events"]


@dataclass(frozen=True)
class Options:
    """All options of `simulate`, in one value; see simulation/__init__.py."""

    arrivals: Arrivals = Arrivals()
    service: ServiceTimes = ServiceTimes()
    service_of: Mapping[str, ServiceTimes] = field(default_factory=dict)
    """Operators whose service times vary differently."""
    keys: Keys = Keys()
    routing: Routing = Routing()
    network: Network = Network()
    buffers: Buffers = Buffers()
    speeds: Speeds = Speeds()
    tuples: int | None = None
    duration_s: float | None = None
    warm_up: float = 0.1
    seed: int = 0
    changes: tuple[PlanChange, ...] = ()
    kernel: Kernel | None = None
    windows: int = 100

    def __post_init__(self) -> None:
        if self.tuples is not None and self.duration_s is not None:
            raise ModelError("'tuples' cannot be used with 'duration_s': remove one of them")
        if self.tuples is not None and self.tuples < 1:
            raise ModelError(f"there are {self.tuples} tuples: expected an integer ≥ 1")
        if self.duration_s is not None and not (
            math.isfinite(self.duration_s) and self.duration_s > 0
        ):
            raise ModelError(f"the duration is {self.duration_s}: expected seconds > 0")
        if not 0 <= self.warm_up < 1:
            raise ModelError(
                f"the warm-up is {self.warm_up}: expected a fraction of the run, 0 to 1"
            )
        if self.seed < 0:
            raise ModelError(f"the seed is {self.seed}: expected an integer ≥ 0")
        if self.windows < 1:
            raise ModelError(f"there are {self.windows} windows: expected an integer ≥ 1")
        if self.kernel not in (None, *get_args(Kernel)):
            raise ModelError(f"unknown kernel '{self.kernel}': expected feed-forward or events")
        if self.buffers.capacity is not None and self.routing.queue == "shared":
            raise ModelError(
                "bounded buffers are per thread and cannot be used with a shared queue"
            )
        if self.buffers.node_capacity is not None and self.network.bandwidth_mb_per_s is None:
            raise ModelError(
                "the buffers' node_capacity is for links with a bandwidth: "
                "set the network's bandwidth_mb_per_s as well"
            )
        last = 0.0
        for change in self.changes:
            if change.at_s < last:
                raise ModelError(
                    f"the plan change at second {change.at_s} begins before the last one is over"
                )
            last = change.at_s + change.pause_s
