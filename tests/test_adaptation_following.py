"""A run under a controller from its options on."""

from __future__ import annotations

from slotwise.adaptation import Rules
from slotwise.adaptation_following import Following
from slotwise.model import SlotwiseError
from tests.controllers.timelines import Scripted, plan_at


def test_a_controller_rehearses_on_an_overload_of_whole_periods() -> None:
    controller, plan = Scripted(), plan_at()
    Following(controller, Rules(period_s=20.0)).rehearse(plan)
    (asked,) = controller.asked
    assert asked.plan is plan
    assert asked.covers(asked.now_s)
    assert [each.end_s for each in asked.observations] == [20.0, 40.0, 60.0]
    assert all(each.stable is False for each in asked.observations)
    assert asked.seen.offered_rate > plan.rate


def test_a_rehearsal_takes_as_long_at_any_rate_and_fails_nothing() -> None:
    def refuse(situation: object) -> None:
        raise SlotwiseError("no plan")

    controller, plan = Scripted(refuse), plan_at(30_000.0)
    Following(controller, Rules()).rehearse(plan)
    rates = [each.offered_rate for each in controller.asked[0].observations]
    assert sum(rates) / len(rates) > plan.rate
