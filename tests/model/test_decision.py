from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slotwise.json_data import json_data
from slotwise.model import Decision, Gain, ModelError, Plan
from slotwise.model.decision import kind_of
from tests.controllers.timelines import pipeline, plan_at


def moved(plan: Plan) -> Plan:
    slots = plan.placement.slots[::-1].copy()
    return replace(plan, placement=replace(plan.placement, slots=slots))


def test_what_it_takes_to_go_over_to_another_plan() -> None:
    plan = plan_at(150.0)
    assert kind_of(plan, replace(plan, rate=1.0, reasons=("other words",))) == "keep"
    assert kind_of(plan, moved(plan)) == "re-place"
    assert kind_of(plan, plan_at(250.0)) == "re-plan"


def test_the_same_threads_on_other_machines_are_a_new_plan() -> None:
    plan = plan_at(150.0, pipeline(nodes=3))
    fewer = replace(plan, cluster=replace(plan.cluster, nodes=plan.cluster.nodes[:2]))
    assert kind_of(plan, fewer) == "re-plan"


def test_other_weights_matter_where_tuples_go_by_them() -> None:
    plan = plan_at(150.0)
    heavier = replace(plan, weights={**plan.weights, "work": (0.7, 0.3)})
    assert kind_of(plan, heavier) == "re-place"


def test_a_change_says_its_kind_and_its_cost() -> None:
    before, after = plan_at(150.0), plan_at(250.0)
    decision = Decision.change(before, after, "more is offered", 3.0, Gain("capacity", 200, 300))
    assert decision.kind == "re-plan"
    assert decision.cost_per_hour == after.cost_per_hour


def test_contradictions_are_refused() -> None:
    plan = plan_at(150.0)
    with pytest.raises(ModelError, match="has a plan exactly if"):
        Decision("keep", "why not", plan)
    with pytest.raises(ModelError, match="has a plan exactly if"):
        Decision("re-plan", "why not")
    with pytest.raises(ModelError, match="expected another one"):
        Decision.change(plan, plan, "the same", 0.0)


def test_a_decision_is_json() -> None:
    decision = Decision.change(plan_at(150.0), plan_at(250.0), "more is offered", 3.0)
    data = json.loads(json.dumps(json_data(decision), allow_nan=False))
    assert data["kind"] == "re-plan"
    assert data["plan"]["placement"]["threads"] == [1, 3, 1]
