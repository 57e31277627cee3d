"""Papers' examples as decisions of their controllers; test_drs.py has those of paper 5."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import slotwise
from slotwise.controllers.base import Situation
from slotwise.controllers.model_driven import ModelDriven
from slotwise.controllers.p_deployer import PDeployer
from slotwise.controllers.traffic import TrafficBased, leaving
from slotwise.learning.work import Correction
from slotwise.model import Choice, Observation, Plan, Scheduler, ThreadTraffic
from slotwise.placers.round_robin import RoundRobin
from slotwise.planner import Request, plan_with
from slotwise.prediction import predict
from slotwise.studies.given import given_threads, placed
from slotwise.workloads.adaptive import chain

PERIOD_S = 10.0


def situation(plan: Plan, seen: Observation, periods: int = 6) -> Situation:
    each = replace(seen, start_s=0.0, end_s=PERIOD_S)
    now_s = periods * PERIOD_S
    return Situation(plan, (each,) * periods, plan.pipeline.goals, now_s, PERIOD_S)


class TestPaper1:
    """The linear DAG, by MBA and SAM: section 8.4 has the slots, with the errata."""

    TABLES = Scheduler(Choice("mba"), Choice("largest-first"), Choice("sam"))
    BY_RATE: ClassVar = {50: (4, 80, 70), 100: (7, 170, 160), 200: (15, 330, 300)}
    """Slots, threads of `azure-blob`, threads of `azure-table`."""

    @pytest.mark.parametrize(("planned", "offered"), [(50, 100), (100, 200), (200, 100), (200, 50)])
    def test_a_rate_outside_the_band_takes_the_plan_of_the_tables(
        self, planned: int, offered: int
    ) -> None:
        plan = plan_with(Request(slotwise.load("linear"), planned, self.TABLES))
        seen = replace(predict(plan), offered_rate=float(offered))
        new = ModelDriven(margin=0.0).decide(situation(plan, seen)).plan
        assert new is not None
        slots, blob, table = self.BY_RATE[offered]
        assert new.allocation.slots == slots
        assert (new.threads["azure-blob"], new.threads["azure-table"]) == (blob, table)


class TestPaper2:
    """The chain with 30 executors on 8 workers: M(α) is 4 for α = 0, and 5 for α = 0.05."""

    def plan(self) -> Plan:
        """As Storm's default scheduler places it."""
        of = chain(5)
        threads = dict.fromkeys((operator.name for operator in of.topology.operators), 5)
        return placed(of, given_threads(of, 1000.0, threads), RoundRobin())

    def seen(self, plan: Plan, hot: bool = False) -> Observation:
        """Each executor of a stage talks to one of the next; `hot`: the first node is full."""
        first, stages = plan.allocation.first_thread[:-1].tolist(), 6
        senders = [first[stage] + n for stage in range(stages - 1) for n in range(5)]
        receivers = [first[stage + 1] + n for stage in range(stages - 1) for n in range(5)]
        flows = ThreadTraffic(np.array(senders), np.array(receivers), np.full(len(senders), 200.0))
        seen = predict(plan)
        used = [0.95 if hot and n == 0 else 0.2 for n in range(len(seen.nodes))]
        nodes = tuple(replace(n, cpu=cpu) for n, cpu in zip(seen.nodes, used, strict=True))
        return replace(seen, thread_traffic=flows, nodes=nodes)

    @pytest.mark.parametrize(("alpha", "most"), [(0.0, 4), (0.05, 5)])
    def test_executors_that_talk_share_workers_up_to_the_bound(
        self, alpha: float, most: int
    ) -> None:
        plan = self.plan()
        decision = TrafficBased(alpha=alpha).decide(situation(plan, self.seen(plan)))
        assert decision.kind == "re-place"
        assert decision.plan is not None
        used = np.bincount(decision.plan.placement.slots)
        assert used.max() <= most
        assert np.count_nonzero(used) == 8
        seen = self.seen(plan)
        assert leaving(decision.plan, seen) <= 0.9 * leaving(plan, seen)
        again = situation(decision.plan, self.seen(decision.plan))
        assert TrafficBased(alpha=alpha).decide(again).kind == "keep"

    def test_a_period_passes_first_unless_a_node_is_overloaded(self) -> None:
        """All executors are on the first two of eight nodes."""
        plan = self.plan()
        crowded = replace(plan.placement, slots=np.arange(30) // 3)
        plan = replace(plan, placement=crowded)
        rule = TrafficBased(period_s=60.0, overload=0.9, seconds=30.0)
        assert rule.decide(situation(plan, self.seen(plan), periods=5)).kind == "keep"
        hot = self.seen(plan, hot=True)
        assert rule.decide(situation(plan, hot, periods=2)).kind == "keep"
        decision = rule.decide(situation(plan, hot, periods=3))
        assert decision.kind == "re-place"
        assert decision.reason.startswith("node-1 was over 90% of its CPU: ")


class TestPaper3:
    """Word count for 2,000 tweets/s within 500 ms; parallelism by the bounds of section 5.1."""

    OWN = Scheduler(Choice("p-deployer"), Choice("largest-first"), Choice("p-deployer"))

    def plan(self) -> Plan:
        return plan_with(Request(slotwise.load("word-count"), 2000.0, self.OWN))

    def threads(self, plan: Plan) -> list[int]:
        return [plan.threads[name] for name in ("parse", "split", "count")]

    def test_the_first_round_has_the_least_threads(self) -> None:
        # ⌈2000 · 0.07 / 100⌉, ⌈2000 · 0.7 ms⌉, ⌈20000 · 0.0011 / (100 · 0.1)⌉
        assert self.threads(self.plan()) == [2, 2, 3]

    def test_an_operator_that_takes_longer_gets_the_threads_of_its_bound(self) -> None:
        """`split` takes 1.2 ms and not 0.7: ⌈2000 · 1.2 ms⌉ = 3."""
        plan, factor = self.plan(), 1.2 / 0.7
        profiles = plan.pipeline.profiles
        slower = dict(profiles.by_operator) | {
            "split": Correction(factor, factor).of(profiles, "split", 10.0)
        }
        truth = replace(plan.pipeline, profiles=replace(profiles, by_operator=slower))
        seen = predict(replace(plan, pipeline=truth))
        new = PDeployer().decide(situation(plan, seen)).plan
        assert new is not None
        assert self.threads(new) == [2, 3, 3]
        assert new.pipeline.profiles.costs("split").sojourn_ms == pytest.approx(1.2, rel=0.05)
