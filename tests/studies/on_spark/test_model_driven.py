"""Paper 1's study on Spark, from made climbs to its tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import slotwise
from slotwise.model import Cluster, Goals, Node, Pipeline, Plan, Refused
from slotwise.prediction import predict
from slotwise.simulation import simulate
from slotwise.studies.on_spark import model_driven
from slotwise.studies.on_spark.climbing import Step
from slotwise.studies.on_spark.model_driven import highest_plan, told
from slotwise.studies.on_spark.points import (
    At,
    Point,
    rate_accuracy_table,
    rate_table,
    use_accuracy_table,
    use_table,
    weights_table,
)
from slotwise.studies.study import Effort
from tests.studies.on_spark.made import climb, step


def small(nodes: int = 3) -> Pipeline:
    pipeline = slotwise.load("linear")
    made = Cluster(tuple(Node(f"n{n}", 2, 7.0) for n in range(nodes)), 3.5)
    return replace(pipeline, catalog=(), cluster=made, goals=Goals())


def point(pair: str, measured_part: float) -> Point:
    """The plan's prediction is off by that part."""
    plan = highest_plan(small(), *pair.split("+"))
    assert plan.predicted is not None
    capacity = plan.predicted.capacity
    rates = [part * measured_part * capacity for part in (0.5, 0.7, 0.9, 1.0)]
    cpu = tuple(slot.cpu for slot in predict(plan, rates[1]).slots)
    seen = climb(
        *(replace(step(rate), slot_cpu=cpu) for rate in rates),
        memory_mb=(99.0,) * plan.cluster.slots,
    )
    at = tuple(_at(plan, step) for step in seen.nearest_to((0.5, 0.7, 0.9)))
    return Point("linear", pair, plan, capacity, seen, at, weighted=seen)


def _at(plan: Plan, seen: Step) -> At:
    return At(seen, predict(plan, seen.rate), simulate(plan, seen.rate, tuples=2000))


@pytest.mark.parametrize("pair", ["lsa+r-storm", "mba+sam"])
def test_the_highest_plan_fits_and_a_higher_one_does_not(pair: str) -> None:
    allocator, placer = pair.split("+")
    pipeline = small()
    best = highest_plan(pipeline, allocator, placer)
    with pytest.raises(Refused):
        slotwise.plan(pipeline, rate=1.05 * best.rate, allocator=allocator, placer=placer)


def test_the_accuracy_is_that_of_the_rates() -> None:
    table = rate_accuracy_table([point("mba+sam", 0.8), point("lsa+r-storm", 0.8)])
    error = {row[1]: row[3] for row in table.rows if row[0] == "all DAGs"}
    assert error["predicted"] == pytest.approx(25.0)
    assert error["simulated"] == pytest.approx(25.0)


def test_a_study_is_told_with_tables_and_charts() -> None:
    made = told([point("mba+sam", 0.9), point("lsa+r-storm", 0.8)], Effort(quick=True))
    assert made.name == "model-driven"
    assert all(table.rows for table in made.tables)
    assert all(chart.lines for chart in made.charts)
    assert "CPU predicted R²" in made.remarks[2]


def test_weights_gain_what_they_gain() -> None:
    plain = point("mba+sam", 0.8)
    better = climb(*(step(1.1 * each.rate) for each in plain.measured.steps))
    (row,) = weights_table([replace(plain, weighted=better)]).rows
    assert row[-1] == pytest.approx(10.0)


def test_use_of_slots_is_compared_where_it_was_measured() -> None:
    """The made steps have the CPU that is predicted for the second one."""
    near = point("mba+sam", 0.9)
    rows = {row[:2]: row[2:] for row in use_accuracy_table([near]).rows}
    assert rows["CPU", "predicted"][1:] == pytest.approx((1.0, 0.0))
    assert rows["CPU", "simulated"][2] < 2.0
    assert rows["memory", "planned"][0] == len(use_table([near]).rows)


def test_a_plan_that_holds_the_last_step_can_do_more() -> None:
    held = point("mba+sam", 0.9)
    assert rate_table([held]).rows[0][-2] == f"≥ {held.measured.peak:.4g}"
    over = replace(held, measured=climb(step(50), step(70, stable=False), step(90, stable=False)))
    assert rate_table([over]).rows[0][-2] == pytest.approx(63.0)


def test_slots_of_the_cluster_are_those_of_the_profiles() -> None:
    made = model_driven.cluster()
    assert made.slots == model_driven.NODES * model_driven.SLOTS_PER_NODE
    assert made.slot_memory_gb * 1024 == model_driven.SLOT.memory_mb
