"""What a simulation is told beside the plan: frozen values, checked when they are made.

Lengths are in seconds (`_s`) or milliseconds (`_ms`), sizes in bytes, rates in tuples per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from slotwise.model import ModelError, NetworkDelays, Plan

ArrivalKind = Literal["constant", "poisson", "uniform", "trace"]
ServiceKind = Literal["profile", "deterministic", "exponential", "gamma", "lognormal", "samples"]
KeyKind = Literal["uniform", "zipf", "recorded"]
SINE_POINTS = 128
"""A sine is followed by so many straight pieces per period: within 0.03 % of it."""


def _check_known(value: str, kind: object, what: str) -> None:
    if value not in get_args(kind):
        raise ModelError(f"unknown {what} '{value}': write one of {', '.join(get_args(kind))}")


@dataclass(frozen=True)
class Schedule:
    """How the input rate changes: a factor on the nominal rate, straight between `points`.

    Points are (second, factor), the first at second 0; two points at one second are a jump. With
    `period_s` the points repeat, else the last factor holds on.

    >>> Schedule.step(at_s=60, factor=2).points
    ((0.0, 1.0), (60.0, 1.0), (60.0, 2.0))
    """

    points: tuple[tuple[float, float], ...]
    period_s: float | None = None

    def __post_init__(self) -> None:
        times = [at for at, _ in self.points]
        if not times or times[0] != 0 or times != sorted(times):
            raise ModelError("a schedule's points start at second 0 and rise")
        if any(not (math.isfinite(f) and f >= 0) for _, f in self.points):
            raise ModelError("a schedule's factors are 0 or more")
        if all(f == 0 for _, f in self.points):
            raise ModelError("a schedule with only zeros lets nothing in")
        if self.period_s is not None and self.period_s < times[-1]:
            raise ModelError("a schedule's period ends after its last point")

    @classmethod
    def step(cls, at_s: float, factor: float) -> Schedule:
        """The nominal rate, from `at_s` on `factor` times it."""
        return cls(((0.0, 1.0), (float(at_s), 1.0), (float(at_s), float(factor))))

    @classmethod
    def ramp(cls, from_s: float, to_s: float, factor: float) -> Schedule:
        """From the nominal rate at `from_s` evenly to `factor` times it at `to_s`."""
        return cls(((0.0, 1.0), (float(from_s), 1.0), (float(to_s), float(factor))))

    @classmethod
    def sine(cls, period_s: float, amplitude: float) -> Schedule:
        """1 + amplitude · sin: `amplitude` at most 1."""
        if not 0 <= amplitude <= 1:
            raise ModelError(f"the sine's amplitude is {amplitude}: write 0 to 1")
        parts = [i / SINE_POINTS for i in range(SINE_POINTS + 1)]
        return cls(
            tuple((p * period_s, 1 + amplitude * math.sin(2 * math.pi * p)) for p in parts),
            float(period_s),
        )

    @classmethod
    def burst(cls, period_s: float, length_s: float, factor: float) -> Schedule:
        """Every `period_s`, for its last `length_s`, `factor` times the nominal rate."""
        calm = float(period_s - length_s)
        points = ((0.0, 1.0), (calm, 1.0), (calm, float(factor)), (float(period_s), float(factor)))
        return cls(points, float(period_s))


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
    trace_s: tuple[float, ...] = ()
    spread: float = 0.0

    def __post_init__(self) -> None:
        _check_known(self.kind, ArrivalKind, "arrivals")
        if not 0 <= self.spread < 1:
            raise ModelError(f"the arrivals' spread is {self.spread}: write 0 to below 1")
        if (self.kind == "trace") != bool(self.trace_s):
            raise ModelError("arrivals of kind 'trace' need 'trace_s', and only they do")
        if self.trace_s and not (
            len(self.trace_s) > 1
            and list(self.trace_s) == sorted(self.trace_s)
            and self.trace_s[-1] > self.trace_s[0]
        ):
            raise ModelError("a trace is at least two rising times in seconds")


@dataclass(frozen=True)
class ServiceTimes:
    """How service times vary around the profile's mean.

    `profile` is gamma with the variation that the operator's profile tells (`service_scv`; 1, that
    is exponential, where it tells none). `scv` is the squared coefficient of variation of `gamma`
    and `lognormal`. `samples` are drawn alike, scaled so that their mean is the profile's.
    """

    distribution: ServiceKind = "profile"
    scv: float | None = None
    samples: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_known(self.distribution, ServiceKind, "service times")
        if (self.distribution in ("gamma", "lognormal")) != (self.scv is not None):
            raise ModelError("service times 'gamma' and 'lognormal' need 'scv', and only they do")
        if self.scv is not None and not (math.isfinite(self.scv) and self.scv >= 0):
            raise ModelError(f"the service times' scv is {self.scv}: write 0 or more")
        if (self.distribution == "samples") != bool(self.samples):
            raise ModelError("service times of kind 'samples' need 'samples', and only they do")
        if self.samples and (min(self.samples) < 0 or not math.fsum(self.samples) > 0):
            raise ModelError("recorded service times are 0 or more, and not all 0")


@dataclass(frozen=True)
class Keys:
    """What `fields` grouping groups by. A tuple gets its key at the source and carries it on.

    `number` keys, equally likely (`uniform`), or key k as often as 1/k^exponent (`zipf`), or as
    often as `recorded` says. When an operator handles a tuple it passes the key on with
    probability `forwarded`, else it writes a constant of the handling thread's own (paper 2's
    reference workload: ½).
    """

    kind: KeyKind = "uniform"
    number: int = 1000
    exponent: float = 1.0
    recorded: tuple[float, ...] = ()
    forwarded: float = 1.0

    def __post_init__(self) -> None:
        _check_known(self.kind, KeyKind, "keys")
        if self.number < 1:
            raise ModelError(f"there are {self.number} keys: write a whole number above 0")
        if (self.kind == "recorded") != bool(self.recorded):
            raise ModelError("keys of kind 'recorded' need 'recorded', and only they do")
        if self.recorded and (min(self.recorded) < 0 or not math.fsum(self.recorded) > 0):
            raise ModelError("recorded key frequencies are 0 or more, and not all 0")
        if not 0 <= self.forwarded <= 1:
            raise ModelError(f"keys are forwarded with probability {self.forwarded}: write 0 to 1")

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
                    f"routing {name} is '{getattr(self, name)}': write one of {', '.join(known)}"
                )


@dataclass(frozen=True)
class Network:
    """How tuples travel.

    `delays` by distance (None: the pipeline's). `send_ms` and `receive_ms` of a thread's time go
    into each tuple that crosses nodes, on top of the transfer cost in the operator's profile. With
    `bandwidth_mb_per_s` each node has one link out and one in, tuples of `tuple_bytes` queue for
    both. A placement with a communication schedule (paper 4) is followed if `stepwise`: a tuple
    waits for the next time slot in which its node may send to the other, stages one slot apart,
    stall slots at the end of each round; within a node it need not wait. `step_ms` is the length
    of a time slot (None: the longest mean service time of any thread).
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
                raise ModelError(f"network {name} is {value}: write 0 or more")
        for name in ("bandwidth_mb_per_s", "step_ms"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ModelError(f"network {name} is {value}: write a number above 0")


@dataclass(frozen=True)
class Buffers:
    """How many tuples may wait at a thread (sources excepted), beside the one in service.

    `capacity` None: any number. When a buffer is full, "block" holds the sender back until there
    is room (a place is taken when the tuple is sent, so tuples on their way count); "lose" drops
    what arrives, and the sender sends it again `resend_after_ms` later, until it is taken. Without
    `resend_after_ms` it is gone.
    """

    capacity: int | None = None
    when_full: Literal["block", "lose"] = "block"
    resend_after_ms: float | None = None

    def __post_init__(self) -> None:
        if self.capacity is not None and self.capacity < 1:
            raise ModelError(f"the buffers' capacity is {self.capacity}: write 1 or more")
        if self.when_full not in ("block", "lose"):
            raise ModelError(f"buffers can 'block' or 'lose' when full, not '{self.when_full}'")
        if self.resend_after_ms is not None and not (
            math.isfinite(self.resend_after_ms) and self.resend_after_ms > 0
        ):
            raise ModelError(f"resend_after_ms is {self.resend_after_ms}: write a number above 0")
        if self.resend_after_ms is not None and self.when_full == "block":
            raise ModelError("buffers that block lose nothing: leave out resend_after_ms")


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
            raise ModelError(f"a plan change at second {self.at_s}: write a number above 0")
        if not (math.isfinite(self.pause_s) and self.pause_s >= 0):
            raise ModelError(f"a plan change pauses {self.pause_s} seconds: write 0 or more")


Kernel = Literal["feed-forward", "events"]


@dataclass(frozen=True)
class Options:
    """All that `simulate` is told, in one value; see simulation/__init__.py."""

    arrivals: Arrivals = Arrivals()
    service: ServiceTimes = ServiceTimes()
    service_of: Mapping[str, ServiceTimes] = field(default_factory=dict)
    """Operators whose service times vary differently."""
    keys: Keys = Keys()
    routing: Routing = Routing()
    network: Network = Network()
    buffers: Buffers = Buffers()
    tuples: int | None = None
    duration_s: float | None = None
    warm_up: float = 0.1
    seed: int = 0
    changes: tuple[PlanChange, ...] = ()
    kernel: Kernel | None = None
    windows: int = 100

    def __post_init__(self) -> None:
        if self.tuples is not None and self.duration_s is not None:
            raise ModelError("give 'tuples' or 'duration_s', not both")
        if self.tuples is not None and self.tuples < 1:
            raise ModelError(f"there are {self.tuples} tuples: write a whole number above 0")
        if self.duration_s is not None and not (
            math.isfinite(self.duration_s) and self.duration_s > 0
        ):
            raise ModelError(f"the duration is {self.duration_s}: write seconds above 0")
        if not 0 <= self.warm_up < 1:
            raise ModelError(f"the warm-up is {self.warm_up}: write a part of the run, 0 to 1")
        if self.seed < 0:
            raise ModelError(f"the seed is {self.seed}: write a whole number, 0 or more")
        if self.windows < 1:
            raise ModelError(f"there are {self.windows} windows: write a whole number above 0")
        if self.kernel not in (None, *get_args(Kernel)):
            raise ModelError(f"unknown kernel '{self.kernel}': write feed-forward or events")
        if self.buffers.capacity is not None and self.routing.queue == "shared":
            raise ModelError("bounded buffers are per thread: they do not go with a shared queue")
        last = 0.0
        for change in self.changes:
            if change.at_s < last:
                raise ModelError(
                    f"the plan change at second {change.at_s} begins before the last one is over"
                )
            last = change.at_s + change.pause_s
