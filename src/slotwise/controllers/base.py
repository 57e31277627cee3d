"""decide(situation) -> Decision: keep the plan in effect, or change it?

A controller is a frozen dataclass: its fields are its options, each with a default. Who calls it,
when, in which order, and what its answer causes:

1. `registry.controller` makes it from its name and options. An option that cannot work raises
   ValueError in `__post_init__`; the user reads its text.
2. The loop (adaptation.py) lets a period pass, observes it, and calls `decide` once. It does not
   call while a change is under way, nor before a whole period was observed after the warm-up that
   follows a change, nor on figures that are older than a period.
3. Keep: the next period begins. A new plan: it is applied, unless the user allows less, the changes
   of the last hour are as many as allowed, or a person holds or forbids it; then it is only
   recommended. Both are in the journal. `decide` is next called with what came of it: the plan in
   effect is then the new one, or still the old one where the deployment refused it.
4. What it raises as SlotwiseError (a Refusal, say) keeps the plan, with the sentence as the reason.

`decide` depends on its argument and its options alone: no clock, no state, no randomness without a
fixed seed. What a controller learns of the operators it finds again in the observations; what it
wants to keep for good it writes into the profiles of the plan that it gives, which is the plan in
effect of the next call. It sees Observations only, so it works alike in simulation and on Spark.
A figure that is not measured is None: a controller then decides without it, or keeps the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slotwise.model import Change, Decision, Goals, Observation, Plan
from slotwise.model.decision import kind_of
from slotwise.model.deployment import MOVE_PAUSE_S, RESTART_PAUSE_S


@dataclass(frozen=True)
class Situation:
    """All that a controller may look at."""

    plan: Plan
    """The plan in effect. Its profiles are those it was made from."""
    observations: Sequence[Observation]
    """One per period under this plan, of the last hour at most, newest last, at least one. Traffic
    between threads is in the newest only."""
    goals: Goals
    now_s: float
    """By the deployment's clock, which starts at 0."""
    period_s: float = 10.0
    rates: Sequence[tuple[float, float]] = ()
    """(end of the period, s; input rate offered, tuples/s) of all periods, under any plan, newest
    last."""
    changes: Sequence[Change] = ()
    """All that were made, newest last."""
    slots_before: Sequence[int] = ()
    """Per change, the slots of the plan that it replaced; without entries, that is not known."""

    @property
    def seen(self) -> Observation:
        """The newest."""
        return self.observations[-1]

    @property
    def changed_s(self) -> float:
        """When the plan in effect came into effect."""
        return self.changes[-1].at_s if self.changes else 0.0

    def last(self, seconds: float) -> Sequence[Observation]:
        """The observations of the last so many seconds; at least one."""
        periods = max(1, round(seconds / self.period_s))
        return self.observations[-periods:]

    def covers(self, seconds: float) -> bool:
        """Have so many seconds been observed under this plan?"""
        return len(self.observations) >= max(1, round(seconds / self.period_s))

    def pause_s(self, plan: Plan) -> float:
        """How long it takes to go over to `plan`: as long as the last change of its kind, or as
        usual on Spark.
        """
        moves = kind_of(self.plan, plan) == "re-place"
        for change in reversed(self.changes):
            if (change.how != "restart") == moves:
                return change.pause_s
        return MOVE_PAUSE_S if moves else RESTART_PAUSE_S


class Controller(Protocol):
    """One way to adapt a plan to what is observed."""

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    def decide(self, situation: Situation) -> Decision: ...
