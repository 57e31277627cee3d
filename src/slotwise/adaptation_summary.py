"""What a run under a controller cost, how long it missed its goals, and what its changes did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from slotwise.adaptation import Step
from slotwise.adaptation_history import HOUR_S
from slotwise.model import Gain, Goals, Observation, missed
from slotwise.model.decision import Kind

AFTER_PERIODS = 6
"""The figure that a change was made for is the mean of at most so many periods after it."""


@dataclass(frozen=True)
class Summary:
    """Of a whole run. Seconds in violation are those of the periods in which a goal was missed. The
    period after a change has its pause; but on Spark what is observed of it begins when the new
    plan is in effect, and has only the tuples that were late then.
    """

    seconds: float = 0.0
    violation_s: float = 0.0
    unobserved_s: float = 0.0
    """Of periods in which nothing was measured; they count neither as met nor as missed."""
    slot_hours: float = 0.0
    """Of the slots that the plan uses; see Plan.slots."""
    machine_hours: float = 0.0
    cost: float = 0.0
    """Of the machines."""
    changes: int = 0
    refused: int = 0
    recommended: int = 0
    """Decisions to change that were not applied."""
    pause_s: float = 0.0
    """Of all changes together."""
    worst_p99_ms: float | None = None
    longest_decision_s: float = 0.0
    missed_s: Mapping[str, float] = field(default_factory=dict)
    """Per goal that was missed, for how long; two goals may be missed at a time."""

    @classmethod
    def of(cls, steps: Iterable[Step], goals: Goals) -> Summary:
        account = Account(goals)
        for step in steps:
            account.add(step)
        return account.summary


@dataclass(frozen=True)
class AppliedChange:
    """A change that was made: what was expected of it beside what came of it."""

    at_s: float
    """When it was decided."""
    kind: Kind
    forced: bool
    reason: str
    changes: tuple[str, ...]
    """See Plan.changes_from."""
    expected_in_effect_s: float
    in_effect_s: float
    """So long after the decision: until machines had started, the batch before had ended, and the
    pause was over."""
    expected_pause_s: float
    pause_s: float
    cost_per_hour_before: float
    """Of the machines."""
    cost_per_hour: float
    """After it."""
    gain: Gain | None
    """As expected."""
    seen: float | None = None
    """The gain's figure after the change: its mean over the first AFTER_PERIODS periods that were
    decided upon, before the next change. None: not observed."""


@dataclass
class Account:
    """Adds up the steps of a run as they come, and keeps none of them."""

    goals: Goals
    summary: Summary = field(default_factory=Summary)
    changes: list[AppliedChange] = field(default_factory=list)
    last: Observation | None = None
    """The newest."""
    _after: list[float] = field(default_factory=list)

    def add(self, step: Step) -> None:
        self.last = step.seen or self.last
        self._add_up(step)
        self._compare(step)
        if step.change is not None:
            self.changes.append(_applied(step))
            self._after.clear()

    def _add_up(self, step: Step) -> None:
        sums, seen, length_s = self.summary, step.seen, step.at_s - step.since_s
        hours = length_s / HOUR_S
        broken = violated(step, self.goals)
        p99_ms = None if seen is None else seen.latency_p99_ms
        self.summary = replace(
            sums,
            seconds=sums.seconds + length_s,
            violation_s=sums.violation_s + length_s * bool(broken),
            unobserved_s=sums.unobserved_s + length_s * (seen is None),
            slot_hours=sums.slot_hours + step.plan.slots * hours,
            machine_hours=sums.machine_hours + step.plan.machines * hours,
            cost=sums.cost + step.plan.cost_per_hour * hours,
            changes=sums.changes + (step.outcome == "applied"),
            refused=sums.refused + (step.outcome == "refused"),
            recommended=sums.recommended + (step.outcome == "recommended"),
            pause_s=sums.pause_s + (step.change.pause_s if step.change else 0.0),
            worst_p99_ms=_higher(sums.worst_p99_ms, p99_ms),
            longest_decision_s=max(sums.longest_decision_s, step.decided_in_s),
            missed_s=dict(sums.missed_s)
            | {goal: sums.missed_s.get(goal, 0.0) + length_s for goal in broken},
        )

    def _compare(self, step: Step) -> None:
        """What the last change was made for, in the periods after it that count."""
        if not self.changes or step.seen is None or step.outcome == "warming up":
            return
        last = self.changes[-1]
        value = None if last.gain is None else getattr(step.seen, last.gain.figure, None)
        if value is None or len(self._after) == AFTER_PERIODS:
            return
        self._after.append(float(value))
        self.changes[-1] = replace(last, seen=sum(self._after) / len(self._after))


def violated(step: Step, goals: Goals) -> tuple[str, ...]:
    """The goals that were missed in this period. One that was not observed has none."""
    if step.seen is None:
        return ()
    return tuple(verdict.goal for verdict in missed(goals.judge(step.seen)))


def _applied(step: Step) -> AppliedChange:
    decision, change = step.decision, step.change
    assert decision is not None
    assert decision.plan is not None
    assert change is not None
    return AppliedChange(
        step.at_s,
        decision.kind,
        step.forced,
        decision.reason,
        decision.plan.changes_from(step.plan),
        decision.wait_s + decision.pause_s,
        change.at_s - step.at_s,
        decision.pause_s,
        change.pause_s,
        step.plan.cost_per_hour,
        decision.plan.cost_per_hour,
        decision.gain,
    )


def _higher(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else max(one, other)
