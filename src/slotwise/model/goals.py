"""What a pipeline must reach, and the one place that says whether it did."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from slotwise.model.errors import ModelError
from slotwise.model.observation import Observation

Outcome = Literal["met", "missed", "not tested"]
USUAL_HEADROOM = 0.2
TOLERANCE = 0.02
"""Rates and latencies within this part of a goal meet it: counts and clocks differ by chance."""


@dataclass(frozen=True)
class Verdict:
    """One goal, and what was seen of it. `seen` is None where nothing is known about it."""

    goal: str
    """The field of Goals: `rate`, `latency_p99_ms`, …"""
    wanted: float
    seen: float | None
    outcome: Outcome
    reason: str
    """One sentence with the figures."""

    @property
    def excess(self) -> float:
        """How far the goal is missed, as a part of it; below 0: so much is to spare."""
        if self.seen is None:
            return 0.0
        if self.goal == "headroom":
            return (1 - self.seen) / (1 - self.wanted) - 1
        if self.goal == "rate":
            return self.wanted / self.seen - 1 if self.seen > 0 else math.inf
        return self.seen / self.wanted - 1


@dataclass(frozen=True)
class Goals:
    """What the pipeline must reach. None: no such goal."""

    rate: float | None = None
    """The input rate, tuples/s, that it sustains at least."""
    latency_ms: float | None = None
    """The mean latency at sinks, at most. So with the percentiles."""
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    sojourn_ms: float | None = None
    """The total sojourn time of an input and all it causes (DRS's bound), at most."""
    headroom: float | None = None
    """The part of its time that every thread has to spare, at least. None: the search for a default
    plan keeps USUAL_HEADROOM, and plans of named algorithms are not judged by it."""
    machines: int | None = None
    """The most nodes that may be used."""
    cost_per_hour: float | None = None
    """The most that the nodes may cost."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            expected = "a number > 0"
            fits = math.isfinite(value) and value > 0
            if field.name == "headroom":
                expected = "a number ≥ 0 and < 1"
                fits = 0 <= value < 1
            if not fits:
                raise ModelError(
                    f"invalid goal {field.name}: {value}: expected {expected}",
                    ("goals", field.name),
                )

    def judge(self, seen: Observation) -> tuple[Verdict, ...]:
        """One verdict per goal that is set, in the order of the fields.

        The rate is judged by the capacity where that is known. A run that was not saturated meets
        it if so much was offered; if less was, the goal is *not tested*. Latencies of a run that is
        not stable would grow on: they miss every goal.
        """
        return tuple(
            _judged(field.name, wanted, seen)
            for field in fields(self)
            if (wanted := getattr(self, field.name)) is not None
        )


def confirmed_by(
    predicted: tuple[Verdict, ...], simulated: tuple[Verdict, ...]
) -> tuple[Verdict, ...]:
    """The verdicts on a plan that was predicted and simulated, goal by goal.

    A goal that either misses is missed. Latencies are the simulated ones, unless the prediction has
    no bound for them; all other figures are the predicted ones, which know more than one run.
    """
    both = zip(predicted, simulated, strict=True)
    return tuple(_of_both(*verdicts) for verdicts in both)


def _of_both(predicted: Verdict, simulated: Verdict) -> Verdict:
    if predicted.goal in _NAMES:
        return predicted if predicted.seen == math.inf else simulated
    return simulated if missed((simulated,)) and not missed((predicted,)) else predicted


def missed(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    return tuple(verdict for verdict in verdicts if verdict.outcome == "missed")


def _judged(goal: str, wanted: float, seen: Observation) -> Verdict:
    if goal == "rate":
        return _judged_rate(wanted, seen)
    if goal == "headroom":
        return _judged_headroom(wanted, seen)
    if goal in ("machines", "cost_per_hour"):
        return _judged_exactly(goal, wanted, seen)
    return _judged_latency(goal, wanted, seen)


def _judged_rate(wanted: float, seen: Observation) -> Verdict:
    enough, goal = wanted * (1 - TOLERANCE), f"the goal of {wanted:,.1f}/s"
    if seen.capacity is None:
        return _judged_unsaturated(wanted, enough, goal, seen)
    text = f"{seen.origin} capacity {seen.capacity:,.1f}/s"
    if seen.capacity >= enough:
        close = "reaches" if seen.capacity >= wanted else f"is within {TOLERANCE:.0%} of"
        return Verdict("rate", wanted, seen.capacity, "met", f"{text} {close} {goal}")
    limit = f" ({seen.bottleneck} is the bottleneck)" if seen.bottleneck else ""
    return Verdict("rate", wanted, seen.capacity, "missed", f"{text} is below {goal}{limit}")


def _judged_unsaturated(wanted: float, enough: float, goal: str, seen: Observation) -> Verdict:
    """A run that was not saturated has finished all that it was offered."""
    if seen.stable is not True:
        reason = f"the {seen.origin} run does not show whether it keeps pace at {goal}"
        return Verdict("rate", wanted, seen.throughput, "not tested", reason)
    if seen.offered_rate < enough:
        reason = f"only {seen.offered_rate:,.1f}/s were offered, less than {goal}"
        return Verdict("rate", wanted, seen.throughput, "not tested", reason)
    reason = f"{seen.origin} run kept pace at {seen.offered_rate:,.1f}/s, {goal}"
    return Verdict("rate", wanted, seen.throughput, "met", reason)


def _judged_headroom(wanted: float, seen: Observation) -> Verdict:
    most = 1 - wanted
    if seen.busiest is None:
        reason = f"the {seen.origin} load of threads is not known"
        return Verdict("headroom", wanted, None, "not tested", reason)
    found = f"{seen.origin}: the busiest thread or slot is {seen.busiest:.0%} busy"
    spare = 1 - seen.busiest
    if seen.busiest <= most * (1 + TOLERANCE):
        return Verdict("headroom", wanted, spare, "met", f"{found} of at most {most:.0%}")
    limit = f" ({seen.bottleneck})" if seen.bottleneck else ""
    return Verdict("headroom", wanted, spare, "missed", f"{found}{limit}, more than {most:.0%}")


_NAMES = {
    "latency_ms": "mean latency",
    "latency_p50_ms": "p50 latency",
    "latency_p95_ms": "p95 latency",
    "latency_p99_ms": "p99 latency",
    "sojourn_ms": "mean sojourn time",
}


def _judged_latency(goal: str, wanted: float, seen: Observation) -> Verdict:
    found, name = getattr(seen, goal), _NAMES[goal]
    limit = f"the goal of {wanted:,.1f} ms"
    if found == math.inf:
        busy = ", ".join(seen.fully_busy) or seen.bottleneck
        reason = f"{seen.origin} {name} is unbounded, above {limit}: {busy} cannot keep up"
        return Verdict(goal, wanted, found, "missed", reason)
    if seen.stable is False:
        at = "" if found is None else f" of {found:,.1f} ms"
        reason = f"{seen.origin} {name}{at} is not stable, so it misses {limit}"
        return Verdict(goal, wanted, found, "missed", reason)
    if found is None:
        reason = f"{seen.origin} {name} is not known"
        return Verdict(goal, wanted, None, "not tested", reason)
    if found <= wanted * (1 + TOLERANCE):
        close = "" if found <= wanted else f"{TOLERANCE:.0%} of "
        reason = f"{seen.origin} {name} {found:,.1f} ms is within {close}{limit}"
        return Verdict(goal, wanted, found, "met", reason)
    reason = f"{seen.origin} {name} {found:,.1f} ms is above {limit}"
    return Verdict(goal, wanted, found, "missed", reason)


def _judged_exactly(goal: str, wanted: float, seen: Observation) -> Verdict:
    found = float(getattr(seen, goal))
    if goal == "machines":
        text, most = f"{found:,.0f} machine{'s'[: found != 1]}", f"{wanted:,.0f}"
    else:
        text, most = f"{found:,.2f} per hour", f"{wanted:,.2f}"
    if found <= wanted * (1 + 1e-9):
        return Verdict(goal, wanted, found, "met", f"{text} of at most {most}")
    return Verdict(goal, wanted, found, "missed", f"{text}, more than the goal of {most}")
