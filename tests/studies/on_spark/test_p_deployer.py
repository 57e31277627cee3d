"""Paper 3's study on Spark, from made profiles and tries to its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise.model import Plan
from slotwise.spark.query.outline import outline
from slotwise.studies import on_spark
from slotwise.studies.convergence import p_deployer_plan
from slotwise.studies.on_spark import p_deployer as study
from slotwise.studies.on_spark.climbing import Step
from slotwise.studies.on_spark.deploying import MOST_MACHINES
from slotwise.studies.on_spark.deployments import (
    Deployments,
    costs_table,
    machines_table,
    remarks,
    told,
    trials_table,
)
from slotwise.studies.on_spark.lab import lab
from slotwise.studies.p_deployer import metis_plan
from slotwise.studies.study import Effort
from tests.studies.on_spark.deployable import linear
from tests.studies.on_spark.made import climb, step

QUICK = Effort(quick=True)
LINEAR = linear(*study.TYPES)


def less(part: float, plan: Plan, rates: Sequence[float]) -> list[Step]:
    """As predicted for a rate that is higher."""
    seen = study.predicted(plan, [rate / part for rate in rates])
    return [
        study.replace(each, rate=rate, throughput=part * (each.throughput or 0.0))
        for each, rate in zip(seen, rates, strict=True)
    ]


@pytest.fixture(scope="module")
def found() -> Deployments:
    """Spark sustains 80 % of what is predicted."""
    ways = {
        "predicted": study.predicted,
        "simulated": partial(study.simulated, QUICK),
        "measured": partial(less, 0.8),
    }
    targets = study.targets_of(LINEAR, (1.2, 2.0))
    return study.deployments("linear", LINEAR, targets, study.SOJOURN, ways)


def test_it_runs_on_spark_by_its_name() -> None:
    on_spark.check_name("p-deployer")
    assert on_spark.STUDIES["p-deployer"] == study.__name__


def test_the_chain_is_one_that_spark_can_run_in_real_time() -> None:
    assert outline(p_deployer_plan(LINEAR, 50.0)).mode == "real-time"


def test_threads_do_as_many_times_as_much_until_the_slot_is_full() -> None:
    waiting, burning = (LINEAR.profiles.table(name).best for name in ("sojourn", "cpu"))
    assert burning.threads == 1
    assert waiting.threads > 10
    assert waiting.rate == pytest.approx(100.0 * waiting.threads)


def test_targets_are_multiples_of_one_machine() -> None:
    one, other = study.targets_of(LINEAR, (1.0, 2.0))
    capacity = metis_plan(LINEAR, 1.0, 1, study.SOJOURN).predicted.capacity  # type: ignore[union-attr]
    assert one == pytest.approx(capacity, rel=0.05)
    assert other == pytest.approx(2 * one, rel=0.05)


def test_a_plan_keeps_its_slots_on_the_whole_cluster() -> None:
    plan = p_deployer_plan(LINEAR, 100.0)
    whole = study.on_cluster(plan)
    assert whole.cluster.slots == MOST_MACHINES > plan.cluster.slots
    assert np.array_equal(whole.placement.slots, plan.placement.slots)
    assert whole.predicted.capacity == pytest.approx(plan.predicted.capacity)  # type: ignore[union-attr]


def test_what_was_tried_on_spark_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    @contextmanager
    def on() -> Iterator[Any]:
        started.append("cluster")
        yield None

    def climbed(stage: Any, plan: Plan, parts: Sequence[float]) -> Any:
        assert plan.predicted is not None
        return climb(*(step(part * plan.predicted.capacity) for part in parts))

    monkeypatch.setattr(study, "climb", climbed)
    plan = p_deployer_plan(LINEAR, 50.0)
    for _ in range(2):
        with lab(QUICK, tmp_path, lambda line: None) as place:
            seen = study.on_spark(place, on, plan, (50.0, 90.0))
            assert [each.rate for each in seen] == pytest.approx([50.0, 50.0, 90.0, 90.0])
    assert started == ["cluster"]


def test_machines_of_both_schedulers_in_three_ways(found: Deployments) -> None:
    table = machines_table([found])
    assert table.column("target/s") == list(found.targets)
    for row in table.rows:
        figures = dict(zip(table.columns, row, strict=True))
        ours, foreseen = figures["P-Deployer measured"], figures["P-Deployer predicted"]
        assert isinstance(ours, int)
        assert isinstance(foreseen, int)
        assert figures["planned"] <= foreseen <= ours <= MOST_MACHINES  # type: ignore[operator]
        assert figures["rounds"] == len(found.rounds(figures["target/s"]))  # type: ignore[arg-type]


def test_every_plan_that_was_measured_is_also_foreseen(found: Deployments) -> None:
    table = trials_table([found])
    tried = sum(len(attempt.rates) for attempt in found.attempts)
    assert len(table.rows) == tried
    assert set(table.column("scheduler")) == {"P-Deployer", "METIS"}
    for row in table.rows:
        figures = dict(zip(table.columns, row, strict=True))
        if figures["holds, measured"] == "yes":
            assert figures["holds, predicted"] == "yes"


def test_costs_say_what_bounds_an_operator(found: Deployments) -> None:
    bounds = {row[1]: row[-1] for row in costs_table([found]).rows}
    assert bounds == {"io": "cpu", "cpu": "cpu", "sojourn": "sojourn", "memory": "cpu"}


def test_a_study_is_told_with_tables_and_charts(found: Deployments) -> None:
    made = told([found], QUICK)
    assert made.on_spark
    assert all(table.rows for table in made.tables)
    assert all(chart.lines for chart in made.charts)
    assert {row.paper.what for row in made.comparisons} == {
        "machines saved against METIS, linear, highest target",
        "part of the target that the first round reaches",
    }
    assert "of 2 targets" in made.remarks[0]


def test_a_target_that_nothing_reaches_is_told_too() -> None:
    ways = {way: partial(less, 0.01) for way in ("predicted", "simulated", "measured")}
    found = study.deployments("linear", LINEAR, (90.0,), study.SOJOURN, ways)
    made = told([found], QUICK)
    (row,) = machines_table([found]).rows
    assert row[3:9] == (None,) * 6
    assert "as many at 1" in remarks([found])[0]
    assert len(made.comparisons) == 1
