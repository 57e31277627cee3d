"""What a controller may look at of a run so far; the loop keeps it, `replay` builds it again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from slotwise.controllers.base import Controller, Situation
from slotwise.model import Change, Decision, Goals, Observation, Plan, SlotwiseError
from slotwise.model.decision import needs_restart
from slotwise.model.deployment import How

HOUR_S = 3600.0
RATES_S = 8 * 24 * HOUR_S
"""Enough to forecast rates that repeat after a week."""


@dataclass
class History:
    """Observations are those of the last hour under the plan in effect, rates those of RATES_S."""

    period_s: float
    changes: list[Change] = field(default_factory=list)
    """All that were made, newest last."""
    slots_before: list[int] = field(default_factory=list)
    """Per change, the slots of the plan that it replaced."""
    waits_s: list[float] = field(default_factory=list)
    """Per change, how long after the decision it began."""
    refused: list[float] = field(default_factory=list)
    """When other changes were tried, which the deployment refused."""
    refused_in_a_row: int = 0
    """Since the last change that was made."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """(end of the period, s; input rate offered) of the periods that were observed."""
    observations: list[Observation] = field(default_factory=list)

    def offered(self, at_s: float, rate: float) -> None:
        """The input rate of a period that was observed."""
        self.rates.append((at_s, rate))
        while self.rates[0][0] < at_s - RATES_S:
            del self.rates[0]

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

    def note(self, at_s: float, before: Plan, decision: Decision, change: Change | None) -> None:
        """A change of the plan `before` that was decided at `at_s` and made; None: the new plan is
        in effect, but not seen to work. Its pause is then taken to be as expected.
        """
        assert decision.plan is not None
        if change is None:
            how: How = "restart" if needs_restart(before, decision.plan) else "next batch"
            change = Change(at_s, how, decision.pause_s)
        self.changes.append(change)
        self.slots_before.append(before.slots)
        self.waits_s.append(max(0.0, round(change.at_s - at_s - change.pause_s, 3)))
        self.refused_in_a_row = 0

    def note_refused(self, at_s: float) -> None:
        """A change that was decided then, and that the deployment refused."""
        self.refused.append(at_s)
        self.refused_in_a_row += 1

    def begin_again(self) -> None:
        """After a change, after one that was refused, and after a failure: what was seen before is
        not decided upon.
        """
        self.observations.clear()

    def within_the_hour(self, now_s: float) -> int:
        """How many changes were tried in the hour before `now_s`."""
        tried_s = (*(change.at_s for change in self.changes), *self.refused)
        return sum(1 for at_s in tried_s if at_s > now_s - HOUR_S)

    def waits_until_s(self, back_off_s: float) -> float:
        """No change is tried before: so long after the last one was refused, twice as long for
        each further one in a row, at most an hour.
        """
        if not self.refused_in_a_row:
            return 0.0
        doubled = back_off_s * 2.0 ** min(self.refused_in_a_row - 1, 30)
        return self.refused[-1] + min(doubled, HOUR_S)

    def situation(self, plan: Plan, goals: Goals, now_s: float) -> Situation:
        return Situation(
            plan,
            tuple(self.observations),
            goals,
            now_s,
            self.period_s,
            tuple(self.rates),
            tuple(self.changes),
            tuple(self.slots_before),
            tuple(self.waits_s),
            tuple(self.refused),
        )


def decided(controller: Controller, situation: Situation) -> Decision:
    """What the controller decides; where it finds no plan, keep."""
    try:
        return controller.decide(situation)
    except SlotwiseError as error:
        return without_plan(error)


def without_plan(error: SlotwiseError) -> Decision:
    return Decision.keep(f"no plan was found: {error}")
