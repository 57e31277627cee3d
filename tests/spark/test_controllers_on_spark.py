"""Each controller on a real cluster, while the load goes up and down: what it changes, that every
id arrives once, that counts are exact, and that its journal, decided again, says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.adaptation_journal import journaled
from slotwise.controllers.base import Controller
from slotwise.controllers.drs import Drs
from slotwise.controllers.flink import Flink
from slotwise.controllers.look_ahead import LookAhead
from slotwise.controllers.model_driven import ModelDriven
from slotwise.controllers.p_deployer import PDeployer
from slotwise.controllers.threshold import Threshold
from slotwise.controllers.traffic import TrafficBased
from slotwise.model import (
    Choice,
    Cluster,
    FixedLoad,
    Goals,
    Grouping,
    Logic,
    Pipeline,
    Plan,
    Profiles,
    Schedule,
    Scheduler,
    ServiceRate,
)
from slotwise.planner import Request, plan_with
from slotwise.recording import read_recording
from slotwise.replay import replay
from slotwise.spark.cluster import Machines
from slotwise.spark.waiting import await_batch, await_tuples
from tests.spark.conftest import MODEL
from tests.spark.counting import KEYS, check
from tests.spark.elastic import MORE
from tests.spark.plans import topology
from tests.spark.running import running

pytestmark = pytest.mark.cluster

RATE, WAIT_MS = 12.0, 50.0
WAVES = Schedule.burst(period_s=20.0, length_s=10.0, factor=6.0)
"""At 12/s a thread of `a` is 60 % busy; at 72/s four are needed."""
ONCE = Schedule.stairs((1, 4, 1), step_s=16.0)
"""For a controller that leaves a backlog behind: while that lasts, no batch ends."""
SHAPE = topology(
    "s>a",
    "a>z",
    "s>c",
    "c>k",
    logic={
        "s": Logic(expr=f"CAST(id % {KEYS} AS STRING)"),
        "a": Logic(expr=f"IF(wait_us({WAIT_MS * 1000:.0f}) >= 0, value, NULL)"),
        "c": Logic(aggregate=(("by", "value"), ("n", "count(*)"))),
    },
    groupings={"s>c": Grouping("fields", ("value",))},
)
LIGHT = FixedLoad(cpu=0.02, mem=0.02)
PROFILES = Profiles(
    {
        "s": LIGHT,
        "a": ServiceRate(1000 / WAIT_MS, cpu=0.1, mem=0.8),  # one fits in a slot
        "c": ServiceRate(1000.0, cpu=0.5, mem=0.02),
        "z": LIGHT,
        "k": LIGHT,
    },
    1024.0,
)


def planned(on: Cluster, goals: Goals) -> Plan:
    """For the low rate on the shared cluster, of a pipeline that may have the nodes `on`."""
    scheduler = Scheduler(Choice("lsa"), Choice("largest-first"), Choice("round-robin"))
    made = Pipeline(SHAPE, PROFILES, cluster=on, goals=goals, scheduler=scheduler)
    plan = plan_with(Request(replace(made, cluster=MODEL), RATE, scheduler))
    return replace(plan, pipeline=made)


@contextmanager
def adapting(
    spark: SparkSession,
    elastic: Machines,
    folder: Path,
    controller: Controller,
    goals: Goals | None = None,
    on: Cluster = MODEL,
    schedule: Schedule | None = WAVES,
) -> Iterator[Iterator[Step]]:
    """Periods of a run under the controller."""
    first = planned(on, goals or Goals())
    with running(spark, first, folder, machines=elastic, schedule=schedule) as run:
        await_tuples(run)
        rules = Rules(period_s=2.0, warm_up_s=1.0)
        loop = Adaptation(run, controller, first.pipeline.goals, rules)
        yield journaled(loop, 240.0, folder / "decisions.jsonl")
        await_batch(run, timeout_s=120.0)
    check(folder)
    again = list(replay(read_recording(folder / "decisions.jsonl"), controller))
    assert again
    assert all(each.is_same for each in again)


@dataclass(frozen=True)
class Changed:
    """A change of the threads of `a`."""

    step: Step
    before: Plan
    after: Plan
    reason: str

    @property
    def more(self) -> int:
        """Threads."""
        return self.after.threads["a"] - self.before.threads["a"]

    @property
    def machines(self) -> int:
        """More than before."""
        return self.after.machines - self.before.machines


def changes(steps: Iterator[Step]) -> Iterator[Changed]:
    """Of the threads of `a`, which take a restart."""
    for step in steps:
        if step.outcome == "applied":
            assert step.decision is not None
            assert step.decision.plan is not None
            assert step.change is not None
            found = Changed(step, step.plan, step.decision.plan, step.decision.reason)
            if found.more:
                assert step.change.how == "restart"
                yield found


def test_model_driven(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    with adapting(spark, elastic, tmp_path, ModelDriven(seconds=4), schedule=ONCE) as steps:
        made = changes(steps)
        up = next(each for each in made if each.more > 0)
        assert "/s are outside the planned" in up.reason
        assert next(each for each in made if each.more < 0).machines == 0


def test_threshold(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    with adapting(spark, elastic, tmp_path, Threshold(seconds=4)) as steps:
        made = changes(steps)
        up = next(each for each in made if each.more > 0)
        assert (up.more, up.machines) == (1, 0)
        assert "% busy for 4 s" in up.reason
        assert next(each for each in made if each.more < 0).more == -1


def test_flink(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    flink = Flink(window_s=4, scale_down_s=6, catch_up_s=60)
    with adapting(spark, elastic, tmp_path, flink, schedule=ONCE) as steps:
        made = changes(steps)
        up = next(each for each in made if each.more > 0)
        assert "a can handle " in up.reason
        assert next(each for each in made if each.more < 0).machines == 0


def test_look_ahead(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    """It goes up. It gives back after minutes of quiet, which simulated days have."""
    controller, goals = LookAhead(horizon_s=60.0, lead_s=4.0), Goals(latency_p99_ms=1500.0)
    with adapting(spark, elastic, tmp_path, controller, goals, MORE, ONCE) as steps:
        up = next(each for each in changes(steps) if each.more > 0)
        assert "expected p99 " in up.reason


def test_p_deployer(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    """It goes up in rounds, and stays there when less is offered."""
    with adapting(spark, elastic, tmp_path, PDeployer(seconds=4)) as steps:
        up = next(each for each in changes(steps) if each.more > 0)
        assert "a raised by " in up.reason
        for step in steps:
            assert step.plan.threads["a"] >= up.after.threads["a"]
            low = step.seen is not None and step.seen.offered_rate < 2 * RATE
            if low and step.outcome == "kept":
                assert step.decision is not None
                if "the target holds" in step.decision.reason:
                    return
        raise AssertionError("the target never holds at the low rate")


def test_drs(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    """With machines: one more for the high rate, given back at the low one."""
    drs = Drs(seconds=4, cool_down_s=2, give_back_s=4)
    with adapting(spark, elastic, tmp_path, drs, Goals(latency_ms=1500.0), MORE) as steps:
        made = changes(steps)
        up = next(each for each in made if each.machines > 0)
        assert up.more > 0
        down = next(each for each in made if each.machines < 0)
        assert down.more < 0
        assert "fewer machines keep the bound" in down.reason


def test_traffic(spark: SparkSession, elastic: Machines, tmp_path: Path) -> None:
    """Threads move at the next batch, without a restart."""
    with adapting(spark, elastic, tmp_path, TrafficBased(period_s=4), schedule=None) as steps:
        step = next(step for step in steps if step.outcome == "applied")
        assert step.decision is not None
        assert step.change is not None
        assert (step.decision.kind, step.change.how) == ("re-place", "next batch")
        assert "tuples/s between nodes can be saved" in step.decision.reason
        gain = step.decision.gain
        assert gain is not None
        after = next(step for step in steps if step.outcome == "kept")
        assert after.seen is not None
        assert after.seen.inter_node_traffic is not None
        assert gain.before is not None
        assert after.seen.inter_node_traffic < gain.before
