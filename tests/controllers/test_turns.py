"""How often plans of fewer slots were taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotwise.controllers._forecast import forecast
from slotwise.controllers._outlook import Outlook
from slotwise.controllers._turns import Turns
from slotwise.controllers.base import Situation
from slotwise.model import Change
from tests.controllers.timelines import plan_at, seen

NOW_S = 7200.0


def after(*slots: int) -> Situation:
    """One change every ten minutes until now, from each number of slots to the next one, and from
    the last to the plan in effect, which has three.
    """
    plan = plan_at(250.0)
    assert plan.slots == 3
    first_s = NOW_S - 600.0 * (len(slots) - 1)
    changes = tuple(Change(first_s + 600.0 * n, "restart", 3.0) for n in range(len(slots)))
    goals = plan.pipeline.goals
    return Situation(plan, (seen(plan),), goals, NOW_S, changes=changes, slots_before=slots)


@pytest.mark.parametrize(
    ("slots", "shrinking", "taken_back"),
    [
        ((), False, 0),
        ((2,), False, 0),
        ((5,), True, 0),
        ((5, 4), True, 0),
        ((5, 2), False, 1),
        ((5, 2, 5), True, 1),
        ((5, 2, 5, 2), False, 2),
        ((5, 3), True, 0),
        ((5, 2, 2), False, 1),
    ],
)
def test_more_slots_after_fewer(slots: tuple[int, ...], shrinking: bool, taken_back: int) -> None:
    assert Turns.of(after(*slots)) == Turns(len(slots), shrinking, taken_back)


def test_what_is_longer_ago_than_an_hour_does_not_count() -> None:
    found = Turns.of(after(5, 2, *[3] * 6))
    assert found == Turns(6, False, 0)


def test_changes_between_plans_of_unknown_sizes_are_counted() -> None:
    assert Turns.of(replace(after(2, 5), slots_before=())) == Turns(2, False, 0)


@pytest.mark.parametrize(
    ("slots", "patience_s"), [((), 300.0), ((5, 2), 600.0), ((5, 2, 5, 2), 1200.0), ((5,), 0.0)]
)
def test_it_takes_twice_as_long_each_time(slots: tuple[int, ...], patience_s: float) -> None:
    situation = after(*slots)
    ahead = forecast([(NOW_S, 250.0)], 10.0, 600.0, 86_400.0)
    assert Outlook(situation, ahead).patience_s(300.0) == patience_s
