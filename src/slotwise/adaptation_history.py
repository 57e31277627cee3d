"""What a controller may look at of a run so far; the loop keeps it, `replay` builds it again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from slotwise.controllers.base import Controller, Situation
from slotwise.model import Change, Decision, Goals, Observation, Plan, SlotwiseError

HOUR_S = 3600.0


@dataclass
class History:
    """Grows with each period. Observations are those of the last hour under the plan in effect."""

    period_s: float
    changes: list[Change] = field(default_factory=list)
    """All that were made, newest last."""
    slots_before: list[int] = field(default_factory=list)
    """Per change, the slots of the plan that it replaced."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """(end of the period, s; input rate offered) of all periods that were observed."""
    observations: list[Observation] = field(default_factory=list)

    def remember(self, seen: Observation) -> None:
        """A period that is decided upon. Traffic between threads is large: it is kept of the
        newest only.
        """
        if self.observations:
            self.observations[-1] = replace(
                self.observations[-1], thread_traffic=None, slot_traffic=None, node_traffic=None
            )
        self.observations.append(seen)
        del self.observations[: -max(1, round(HOUR_S / self.period_s))]

    def note(self, change: Change, before: Plan) -> None:
        """A change that was made: from `before` to another plan."""
        self.changes.append(change)
        self.slots_before.append(before.slots)

    def begin_again(self) -> None:
        """After a change, and after one that failed: what was seen before is not decided upon."""
        self.observations.clear()

    def within_the_hour(self, now_s: float) -> int:
        """How many changes were made in the hour before `now_s`."""
        return sum(1 for change in self.changes if change.at_s > now_s - HOUR_S)

    def situation(self, plan: Plan, goals: Goals, now_s: float) -> Situation:
        return Situation(
            plan,
            tuple(self.observations),
            goals,
            now_s,
            self.period_s,
            self.rates,
            tuple(self.changes),
            tuple(self.slots_before),
        )


def decided(controller: Controller, situation: Situation) -> Decision:
    """What the controller decides; where it finds no plan, keep."""
    try:
        return controller.decide(situation)
    except SlotwiseError as error:
        return Decision.keep(f"no plan was found: {error}")
