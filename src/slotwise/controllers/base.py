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
from slotwise.model.decision import needs_restart
from slotwise.model.deployment import MOVE_PAUSE_S, RESTART_PAUSE_S

MOST_MISSING = 0.1
"""Of a time: in so small a part of it the meters may have been silent."""


@dataclass(frozen=True)
class Situation:
    """All that a controller may look at."""

    plan: Plan
    """The plan in effect. Its profiles are those it was made from."""
    observations: Sequence[Observation]
    """One per period under this plan that was measured, since its warm-up or that after a failure;
    of the last hour at most, newest last, at least one. Traffic between threads is in the newest
    only."""
    goals: Goals
    now_s: float
    """By the deployment's clock, which starts at 0."""
    period_s: float = 10.0
    rates: Sequence[tuple[float, float]] = ()
    """(end of the period, s; input rate offered, tuples/s) of the periods of the last days, under
    any plan, newest last."""
    changes: Sequence[Change] = ()
    """All that were made, newest last."""
    slots_before: Sequence[int] = ()
    """Per change, the slots of the plan that it replaced; without entries, that is not known."""
    waits_s: Sequence[float] = ()
    """Per change, how long after the decision it began: until machines had started and the batch
    before had ended."""
    refused: Sequence[float] = ()
    """When other changes were tried, which the deployment refused."""

    @property
    def seen(self) -> Observation:
        """The newest."""
        return self.observations[-1]

    @property
    def changed_s(self) -> float:
        """When the plan in effect came into effect."""
        return self.changes[-1].at_s if self.changes else 0.0

    def last(self, seconds: float) -> Sequence[Observation]:
        """The observations of the last so many seconds, to half a period; at least the newest."""
        since_s = self._end_s(self.seen) - seconds + self.period_s / 2
        return [
            seen for seen in self.observations if seen is self.seen or self._end_s(seen) > since_s
        ]

    def covers(self, seconds: float) -> bool:
        """Have the last so many seconds been observed under this plan, but for half a period or
        MOST_MISSING of them?
        """
        known_s = sum(self._length_s(seen) for seen in self.last(seconds))
        return known_s >= seconds - max(MOST_MISSING * seconds, self.period_s / 2)

    def _end_s(self, seen: Observation) -> float:
        return self.now_s if seen.end_s is None else seen.end_s

    def _length_s(self, seen: Observation) -> float:
        """Without a window of its own it is of a period."""
        return self.period_s if seen.start_s is None else self._end_s(seen) - seen.start_s

    @property
    def wait_s(self) -> float:
        """How long the plan in effect goes on after a decision: as long as at the last change."""
        return self.waits_s[-1] if self.waits_s else 0.0

    def pause_s(self, plan: Plan) -> float:
        """How long it takes to go over to `plan`: as long as the last change of its kind, or as
        usual on Spark.
        """
        moves = not needs_restart(self.plan, plan)
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
