"""replay(recording, controller) -> what it would have decided in a run that another one adapted.

The run stays as it was recorded: every decision starts from the plan that was in effect and the
observations that were made, not from what the other controller's own changes would have caused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from slotwise.adaptation_history import History, decided
from slotwise.controllers.base import Controller, Situation
from slotwise.model import Decision
from slotwise.model.decision import Kind, kind_of
from slotwise.recording import Recording


@dataclass(frozen=True)
class Redecided:
    """One period in which the controller of the run decided, and what another one decides."""

    at_s: float
    recorded: Decision
    decision: Decision

    @property
    def is_same(self) -> bool:
        """Both keep, or both change to the same threads in the same slots."""
        one, other = self.recorded.plan, self.decision.plan
        if one is None or other is None:
            return one is other
        return kind_of(one, other) == "keep"


def replay(recording: Recording, controller: Controller) -> Iterator[Redecided]:
    """One for each period in which the controller, and not a person, decided."""
    for situation, recorded in situations(recording):
        yield Redecided(situation.now_s, recorded, decided(controller, situation))


def situations(recording: Recording) -> Iterator[tuple[Situation, Decision]]:
    """What the controller of the run saw each time, and what it decided."""
    head = recording.head
    history = History(head.rules.period_s)
    for step in recording.steps:
        if step.resumed:
            history.begin_again()
        if step.seen is not None:
            history.offered(step.at_s, step.seen.offered_rate)
        if step.seen is not None and step.decision is not None and not step.forced:
            history.remember(step.seen)
            yield history.situation(step.plan, head.goals, step.at_s), step.decision
        if step.decision is not None and step.outcome == "applied":
            history.note(step.at_s, step.plan, step.decision, step.change)
            history.begin_again()
        if step.decision is not None and step.outcome == "refused":
            history.note_refused(step.at_s)
            history.begin_again()


@dataclass(frozen=True)
class Difference:
    """Decisions in a row that differ in the same way: by the kinds of both."""

    first: Redecided
    last_s: float
    """When the last of them was made."""
    decisions: int


def differences(redecided: Iterable[Redecided]) -> Iterator[Difference]:
    """Where the two differ, in order of time."""
    for (differs, *_), each in groupby(redecided, _kinds):
        if differs:
            alike = list(each)
            yield Difference(alike[0], alike[-1].at_s, len(alike))


def _kinds(each: Redecided) -> tuple[bool, Kind, Kind]:
    return not each.is_same, each.recorded.kind, each.decision.kind
