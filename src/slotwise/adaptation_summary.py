"""What a run under a controller cost, and how long it missed its goals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slotwise.adaptation import Step
from slotwise.model import Goals, missed

HOUR_S = 3600.0


@dataclass(frozen=True)
class Summary:
    """Of a whole run. Seconds in violation are those of the periods in which a goal was missed; a
    change counts with the period after it, which has its pause.
    """

    seconds: float
    violation_s: float
    unobserved_s: float
    """Of periods in which nothing was measured; they count neither as met nor as missed."""
    slot_hours: float
    """Of the slots that the plan uses; see Plan.slots."""
    machine_hours: float
    cost: float
    """Of the machines."""
    changes: int
    refused: int
    recommended: int
    """Decisions to change that were not applied."""
    pause_s: float
    """Of all changes together."""
    worst_p99_ms: float | None
    longest_decision_s: float

    @classmethod
    def of(cls, steps: Iterable[Step], goals: Goals) -> Summary:
        total = dict.fromkeys(
            ("seconds", "violation", "unobserved", "slots", "machines", "cost", "pause"), 0.0
        )
        count = dict.fromkeys(("applied", "refused", "recommended"), 0)
        worst: float | None = None
        longest = 0.0
        for step in steps:
            length_s = step.at_s - step.since_s
            total["seconds"] += length_s
            total["violation"] += length_s * is_violated(step, goals)
            total["unobserved"] += length_s * (step.seen is None)
            total["slots"] += step.plan.slots * length_s / HOUR_S
            total["machines"] += step.plan.machines * length_s / HOUR_S
            total["cost"] += step.plan.cost_per_hour * length_s / HOUR_S
            total["pause"] += step.change.pause_s if step.change else 0.0
            if step.outcome in count:
                count[step.outcome] += 1
            if step.seen is not None and step.seen.latency_p99_ms is not None:
                worst = max(worst or 0.0, step.seen.latency_p99_ms)
            longest = max(longest, step.decided_in_s)
        return cls(
            total["seconds"],
            total["violation"],
            total["unobserved"],
            total["slots"],
            total["machines"],
            total["cost"],
            count["applied"],
            count["refused"],
            count["recommended"],
            total["pause"],
            worst,
            longest,
        )


def is_violated(step: Step, goals: Goals) -> bool:
    """Was a goal missed in this period? A period that was not observed is not known to be one."""
    return step.seen is not None and bool(missed(goals.judge(step.seen)))
