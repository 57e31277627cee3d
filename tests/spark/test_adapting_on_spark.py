"""The loop on a real cluster: machines come and go under a controller, and no id is lost."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.adaptation import Adaptation, Rules
from slotwise.adaptation_journal import journaled
from slotwise.controllers.base import Situation
from slotwise.model import Decision, Plan
from slotwise.spark.cluster import Machines, SparkCluster
from slotwise.spark.waiting import await_batch, await_tuples
from tests.spark.conftest import MODEL
from tests.spark.elastic import MORE
from tests.spark.plans import plan, topology
from tests.spark.programs import told_by
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Alternating:
    """From one plan to the other at every decision."""

    name: ClassVar[str] = "alternating"
    plans: tuple[Plan, Plan]

    def decide(self, situation: Situation) -> Decision:
        before = situation.plan
        after = next(each for each in self.plans if each.cluster != before.cluster)
        return Decision.change(before, after, "it is the other's turn", situation.pause_s(after))


def test_machines_are_added_and_given_back_and_no_id_is_lost(
    spark: SparkSession, elastic: Machines, embedded: SparkCluster, tmp_path: Path
) -> None:
    of = topology("s>a", "a>k")
    few, many = plan(of, {"a": 1}, on=MODEL, rate=300), plan(of, {"a": 4}, on=MORE, rate=300)
    journal, steps = tmp_path / "decisions.jsonl", []
    assert embedded.daemons is not None
    with running(spark, few, tmp_path, machines=elastic) as run:
        await_tuples(run)
        loop = Adaptation(
            run, Alternating((few, many)), few.pipeline.goals, Rules(period_s=2, warm_up_s=1)
        )
        for step in journaled(loop, 600, journal):
            steps.append(step)
            if step.outcome == "applied":
                assert len(embedded.daemons.hosts) == len(run.plan.cluster.nodes)
                assert run.whereabouts().levels == run.outline.layout.slots(run.plan.placement)
            if sum(each.outcome == "applied" for each in steps) == 2:
                break
        await_batch(run)
    assert run.plan.cluster == MODEL
    ids = Counter(row["id"] for row in written(tmp_path))
    assert set(ids) == set(range(max(ids) + 1))
    assert set(ids.values()) == {1}
    # Nothing is decided on what was seen before the change, or within the warm-up.
    up, down = (step for step in steps if step.outcome == "applied")
    assert up.change is not None
    assert down.seen is not None
    assert down.seen.start_s is not None
    assert down.seen.start_s >= up.change.at_s + 1 - 1e-6
    changes = [
        line["change"]
        for line in map(json.loads, journal.read_text().splitlines())
        if line["record"] == "step" and "change" in line
    ]
    assert [change["how"] for change in changes] == ["restart", "restart"]


def test_an_existing_master_takes_executors_back_and_gives_them_again(tmp_path: Path) -> None:
    told = told_by("given_master", tmp_path)
    assert told == {"living": [3, 2, 3], "complete": True}
