"""What a controller is shown of the last seconds, and which pause it expects."""

from __future__ import annotations

from dataclasses import replace

from slotwise.controllers._present import waiting
from slotwise.controllers.base import Situation
from slotwise.model import Change
from slotwise.model.deployment import MOVE_PAUSE_S, RESTART_PAUSE_S
from tests.controllers.timelines import plan_at, seen, situation

PLAN = plan_at()


def seen_at(*ends_s: float) -> Situation:
    """Periods of 10 s that end then."""
    observations = tuple(seen(PLAN, end_s=end_s) for end_s in ends_s)
    return replace(situation(PLAN), observations=observations, now_s=ends_s[-1])


def ends_s(case: Situation, seconds: float) -> list[float | None]:
    return [each.end_s for each in case.last(seconds)]


def test_the_last_seconds_are_those_of_the_clock() -> None:
    case = seen_at(10, 20, 30, 40)
    assert ends_s(case, 30) == [20, 30, 40]
    assert ends_s(case, 1) == [40]
    assert case.covers(40)
    assert not case.covers(60)


def test_what_was_seen_before_a_silence_is_not_the_last_that_was() -> None:
    case = seen_at(10, 20, 100, 110)
    assert ends_s(case, 30) == [100, 110]
    assert not case.covers(30)
    assert case.covers(20)
    assert ends_s(case, 20) == [100, 110]
    assert ends_s(seen_at(10, 20, 100), 20) == [100]


def test_a_period_of_many_may_be_missing() -> None:
    ends = [10.0 * n for n in range(1, 31) if n != 17]
    assert seen_at(*ends).covers(300)
    assert not seen_at(*ends[:10], *ends[18:]).covers(300)


def test_periods_that_take_longer_cover_as_much_time_as_they_take() -> None:
    """A decision of 3 s is in the period after it."""
    longer = [seen(PLAN, end_s=13.0 * n) for n in range(1, 11)]
    observations = tuple(replace(each, start_s=(each.end_s or 0) - 13) for each in longer)
    case = replace(seen_at(10), observations=observations, now_s=130.0)
    assert case.covers(120)
    assert not case.covers(200)


def test_queues_grow_since_the_period_before_only() -> None:
    """40 tuples waited before a silence, 10 after it: they do not become fewer by half of that."""

    def with_queue(end_s: float, queue: float) -> Situation:
        case = seen_at(end_s)
        of = tuple(replace(each, queue=queue) for each in case.seen.operators)
        return replace(case, observations=(replace(case.seen, operators=of),))

    for before_s, expected in ((90.0, 0.0), (20.0, 10.0)):
        both = with_queue(before_s, 40.0).observations[0], with_queue(100.0, 10.0).observations[0]
        case = replace(seen_at(100), observations=both)
        found = waiting(PLAN, case.last(20))["work"] - waiting(PLAN, [seen(PLAN)])["work"]
        assert found == expected


def test_the_expected_pause_is_that_of_a_restart_where_one_is_needed() -> None:
    other = replace(PLAN.cluster.nodes[0], name="other")
    swapped = replace(PLAN, cluster=replace(PLAN.cluster, nodes=(other, *PLAN.cluster.nodes[1:])))
    case = situation(PLAN)
    assert case.pause_s(swapped) == MOVE_PAUSE_S
    assert case.pause_s(plan_at(350.0)) == RESTART_PAUSE_S
    changed = replace(case, changes=(Change(5.0, "next batch", 0.2), Change(9.0, "restart", 4.0)))
    assert (changed.pause_s(swapped), changed.pause_s(plan_at(350.0))) == (0.2, 4.0)
