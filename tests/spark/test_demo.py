"""`make demo` in short, on the shared cluster: all parts of its story, and what it prints."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.controllers.base import Situation
from slotwise.model import Decision, Goals, Plan
from slotwise.report.timeline import timeline
from tests.spark.conftest import MODEL
from tests.spark.plans import plan, topology
from tests.spark.running import running

pytestmark = pytest.mark.cluster

FILE = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", FILE)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look their module up there
    spec.loader.exec_module(made)
    return made


@dataclass(frozen=True)
class OnceTold:
    """Goes over to `plan` when the demo has told that the rate doubles."""

    name: ClassVar[str] = "once-told"
    plan: Plan
    told: Sequence[str]

    def decide(self, situation: Situation) -> Decision:
        if situation.plan.threads == self.plan.threads or "the rate doubles" not in self.told:
            return Decision.keep("nothing was told")
        return Decision.change(situation.plan, self.plan, "it was told", pause_s=3)


def test_the_story_is_told_to_its_end(
    demo: ModuleType, spark: SparkSession, tmp_path: Path
) -> None:
    of, goals = topology("s>a", "a>k"), Goals(latency_p99_ms=60_000)
    few, many = (
        replace(made, pipeline=replace(made.pipeline, goals=goals))
        for made in (
            plan(of, {"a": 1}, on=MODEL, rate=100, slots=[0, 0, 0]),
            plan(of, {"a": 2}, on=MODEL, rate=100, slots=[0, 0, 1, 2]),
        )
    )
    times = demo.Times(batch=2, by_spark=2, doubled=0, recovery=60, after=2, period=1, warm_up=1)
    told: list[str] = []
    with running(spark, few, tmp_path) as run:
        story = demo.Demo(run, told.append, times, OnceTold(many, told))
        story.go()
        assert run.plan.threads == many.threads
    names = ["placed by Spark", "as planned", "rate doubled", "plan changed"]
    assert [phase.name for phase in story.phases] == names
    assert all(phase.seen.latency_p99_ms for phase in story.phases)
    assert [phase.plan.threads["a"] for phase in story.phases] == [1, 1, 1, 2]
    as_planned, after = story.phases[1], story.phases[3]
    assert as_planned.plan.placement.slots.tolist() == few.placement.slots.tolist()
    assert after.plan.placement.slots.tolist() == many.placement.slots.tolist()
    assert story.recovered_s is not None
    assert [point.end_s for point in story.points] == sorted(p.end_s for p in story.points)
    assert timeline("test", story.points, story.spans, story.marks)
    *phases, took, again = demo.conclusion(story)
    assert [line.split(":")[0] for line in phases] == names
    assert re.match(r"the change took \d+ s, with a pause of .* s \(expected: 3.00 s\)", took)
    assert again.startswith("p99 was back under its goal ")
    # What was done before it watched is not the controller's.
    assert sum("new placement" in line for line in told) == 0
