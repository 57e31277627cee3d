"""Decisions of the simple rules, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slotwise.adaptation_history import decided
from slotwise.controllers.base import Controller
from slotwise.controllers.flink import Flink
from slotwise.controllers.model_driven import ModelDriven
from slotwise.controllers.threshold import Threshold
from slotwise.controllers.traffic import TrafficBased
from slotwise.model import Choice, Decision, Logic, Plan, ThreadTraffic
from slotwise.planner import Request, plan_with
from tests.controllers.timelines import pipeline, plan_at, situation, with_logic


def threads(decision: Decision) -> int:
    assert decision.plan is not None
    return decision.plan.threads["work"]


class TestThreshold:
    def test_gives_a_busy_operator_one_thread_more(self) -> None:
        decision = Threshold().decide(situation(busy=0.93))
        assert decision.kind == "re-plan"
        assert threads(decision) == 3
        assert decision.reason == (
            "work was 93% busy for 30 s: work 2 → 3 threads on 3 nodes, pause 3 s"
        )

    def test_waits_until_it_was_busy_for_so_long(self) -> None:
        assert Threshold().decide(situation(busy=0.93, periods=2)).kind == "keep"

    def test_takes_a_thread_from_an_idle_operator(self) -> None:
        assert threads(Threshold().decide(situation(busy=0.3))) == 1

    def test_keeps_a_thread_that_the_others_could_not_replace(self) -> None:
        # One thread would be 0.39 · 2 = 78 % busy: below 80 %. At an `above` of 0.7 it is too much.
        assert threads(Threshold().decide(situation(busy=0.39))) == 1
        assert Threshold(above=0.7).decide(situation(busy=0.39)).kind == "keep"

    def test_a_backlog_counts_though_nobody_is_busy(self) -> None:
        assert threads(Threshold().decide(situation(busy=0.5, backlog=150.0 * 6))) == 3
        assert Threshold().decide(situation(busy=0.5, backlog=150.0 * 4)).kind == "keep"


class TestMostThreads:
    """`work` can have two threads: its keys are divided into two groups."""

    @pytest.mark.parametrize(
        "controller", [Threshold(), Flink(window_s=30.0), ModelDriven(seconds=30.0)]
    )
    def test_no_plan_has_more(self, controller: Controller) -> None:
        given = with_logic(Logic(aggregate=(("by", "value"), ("n", "count(*)")), key_groups=2))
        case = situation(plan_at(150.0, given), rate=350.0, busy=1.0)
        assert case.plan.threads["work"] == 2
        first = decided(controller, case)
        if first.plan is not None:  # the same threads on more machines
            assert threads(first) == 2
            case = replace(case, plan=first.plan)
        assert decided(controller, case).kind == "keep"


class TestFlink:
    """Threads are 100/s each (10 ms per tuple); 150/s are offered."""

    QUICK = Flink(window_s=30.0, scale_down_s=50.0, catch_up_s=300.0)

    def test_threads_are_for_the_target_utilisation_and_the_catch_up_of_a_restart(self) -> None:
        # 150 / 0.7 + 150 · 3 / 300 = 215.8/s, but 200 ≥ 150 / 1.0: within the boundaries.
        assert self.QUICK.decide(situation()).kind == "keep"
        # 250 / 0.7 + 250 · 3 / 300 = 359.6/s, and 200 < 250: 4 threads.
        decision = self.QUICK.decide(situation(rate=250.0))
        assert threads(decision) == 4
        assert decision.reason.startswith("work can handle 200/s and gets 250/s: work 2 → 4")

    def test_a_backlog_is_caught_up_in_time(self) -> None:
        # 150 / 0.7 + (30,000 + 450) / 300 = 315.8/s; 200 < 150 + 100.
        assert threads(self.QUICK.decide(situation(backlog=30_000.0))) == 4

    def test_scales_down_only_after_the_delay_and_not_below_two_fifths(self) -> None:
        plan = plan_at(950.0)
        assert plan.threads["work"] == 10
        assert self.QUICK.decide(situation(plan, rate=100.0, periods=4)).kind == "keep"
        assert threads(self.QUICK.decide(situation(plan, rate=100.0, periods=5))) == 4

    def test_waits_for_a_whole_window(self) -> None:
        assert self.QUICK.decide(situation(rate=250.0, periods=2)).kind == "keep"


class TestModelDriven:
    @pytest.mark.parametrize("rate", [90.0, 120.0, 150.0])
    def test_keeps_the_plan_within_its_band(self, rate: float) -> None:
        assert ModelDriven().decide(situation(rate=rate)).kind == "keep"

    @pytest.mark.parametrize(("rate", "expected"), [(151.0, 2), (89.0, 2), (80.0, 1), (300.0, 4)])
    def test_plans_for_a_fifth_more_outside(self, rate: float, expected: int) -> None:
        decision = ModelDriven().decide(situation(rate=rate))
        if decision.plan is None:
            assert expected == 2
        else:
            assert threads(decision) == expected
            assert decision.plan.rate == pytest.approx(1.2 * rate)


class TestTraffic:
    """Two operators with two threads each on two nodes of two slots; pairs talk across nodes."""

    @staticmethod
    def plan() -> Plan:
        given = pipeline(nodes=2)
        named = replace(given.scheduler, allocator=Choice("drs", {"processors": 3}))
        given = replace(given, scheduler=named)
        return plan_with(Request(given, 150.0, named))

    def test_moves_threads_that_talk_to_one_node(self) -> None:
        plan = self.plan()
        work = plan.allocation.first_thread[1]
        out = plan.allocation.first_thread[2]
        # `in` sends to one thread of `work` only, which sends all to `out`; they are far apart.
        flows = ThreadTraffic(np.array([0, work]), np.array([work, out]), np.array([90.0, 90.0]))
        slots = plan.placement.slots.copy()
        slots[[0, work, out]] = [0, 2, 1]
        apart = replace(plan, placement=replace(plan.placement, slots=slots))
        decision = TrafficBased().decide(situation(apart, periods=6, thread_traffic=flows))
        assert decision.kind == "re-place"
        assert decision.gain is not None
        assert decision.gain.before == 180.0
        assert decision.gain.after is not None
        assert decision.gain.after <= 90.0
        assert decision.pause_s == 0.5

    def test_waits_for_its_period_and_for_traffic(self) -> None:
        plan = self.plan()
        assert TrafficBased().decide(situation(plan, periods=3)).kind == "keep"
        assert "not measured" in TrafficBased().decide(situation(plan, periods=6)).reason
