"""A deployment under a controller, watched."""

from __future__ import annotations

import pytest

from slotwise.adaptation import Rules
from slotwise.controllers.threshold import Threshold
from slotwise.model import Goals
from slotwise.studies.controlled import Watched, applied, controlled
from tests.controllers.timelines import ScriptedDeployment, plan_at, seen


def watched(pause_s: float = 2.0) -> Watched:
    """`work` is busy enough for one thread more, whatever it has."""
    deployment = ScriptedDeployment(
        plan_at(), lambda plan, now_s: seen(plan, end_s=now_s, busy=0.9), pause_s
    )
    return Watched(deployment, every_s=15.0)


def spans(found: Watched) -> list[tuple[float | None, float | None]]:
    return [(each.start_s, each.end_s) for each in found.seen]


def test_intervals_follow_one_another_whatever_the_steps_are() -> None:
    found = watched()
    for seconds in (10.0, 10.0, 40.0):
        found.advance(seconds)
    assert spans(found) == [(0, 15), (15, 30), (30, 45), (45, 60)]


def test_the_pause_of_a_change_is_in_its_interval() -> None:
    found = watched(pause_s=20.0)
    found.advance(10.0)
    found.apply(plan_at(350.0))
    found.advance(30.0)
    assert spans(found) == [(0, 30), (30, 45), (45, 60)]


def test_the_controller_waits_for_its_time() -> None:
    made = controlled(watched(), Threshold(), Goals(), 120.0, Rules(), from_s=60.0)
    assert next(step.at_s for step in applied(made)) == pytest.approx(70.0)
