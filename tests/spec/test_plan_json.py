from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import slotwise
from slotwise import __version__
from slotwise.model import Placement, Plan, Prediction, SlotwiseError
from slotwise.spec import load
from slotwise.spec.plan_json import plan_from_json, plan_to_json
from tests import builders
from tests.spec.strategies import written_plans


@pytest.fixture(scope="module")
def plan() -> Plan:
    chain = load("chain")
    assert chain.cluster is not None
    threads = {operator.name: 2 for operator in chain.topology.operators}
    allocation = builders.allocation(chain.topology, threads)
    total = allocation.total_threads
    prediction = Prediction(
        origin="predicted",
        offered_rate=100.0,
        throughput=80.0,
        capacity=80.0,
        proportional_capacity=90.0,
        shuffle_capacity=80.0,
        stable=False,
        busiest=1.25,
        bottleneck="ack",
        latency_ms=math.inf,
        latency_p50_ms=math.inf,
        latency_p95_ms=math.inf,
        latency_p99_ms=math.inf,
        sojourn_ms=math.inf,
        shared_queue_latency_ms=11.0,
        shared_queue_sojourn_ms=12.0,
        network_ms=1.5,
        operators=(),
        streams=(),
        slots=(),
        nodes=(),
        cost_per_hour=0.0,
        inter_slot_traffic=9.0,
        inter_node_traffic=5.0,
    )
    return Plan(
        chain,
        100.0,
        allocation,
        chain.cluster,
        slots=4,
        extra_slots=1,
        placement=Placement("test", (2,) * 6, np.arange(total)),
        weights=dict.fromkeys(threads, (0.5, 0.5)),
        predicted=prediction,
        reasons=("because",),
    )


@settings(max_examples=40, deadline=None)
@given(written_plans())
def test_a_plan_comes_back_equal_and_byte_for_byte(plan: Plan) -> None:
    text = plan_to_json(plan)
    again = plan_from_json(text)
    assert again == plan
    assert plan_to_json(again) == text


def test_the_keys_that_readers_rely_on(plan: Plan) -> None:
    document = json.loads(plan_to_json(plan))
    assert document["slotwise"] == __version__
    assert (document["rate"], document["slots"], document["extra_slots"]) == (100.0, 4, 1)
    assert (document["allocator"], document["placer"]) == ("test", "test")
    assert document["provisioner"] is None
    assert document["threads"] == dict.fromkeys(plan.pipeline.topology.index, 2)
    assert document["nodes"][0] == {
        "name": "node-a-1",
        "type": None,
        "slots": 5,
        "memory_gb": 3.0,
        "speed": 1.0,
        "rack": "rack-a",
        "price_per_hour": 0.0,
    }
    assert document["placement"][7] == {
        "operator": "simple-2",
        "thread": 1,
        "node": "node-a-2",
        "slot": 2,
    }
    assert document["allocation"]["operators"][1]["bundles"] == [
        {"threads": 1, "cpu": 0.1, "mem": 0.1, "full": False, "count": 2}
    ]
    assert document["cost_per_hour"] == 0.0
    assert document["reasons"] == ["because"]
    assert document["pipeline"]["topology"]["name"] == "chain"


def test_infinite_latency_is_null_and_comes_back(plan: Plan) -> None:
    text = plan_to_json(plan)
    assert json.loads(text)["predicted"]["latency_ms"] is None
    again = plan_from_json(text)
    assert again.predicted is not None
    assert again.predicted.latency_ms == math.inf


def changed(plan: Plan, *path: Any, to: Any) -> str:
    document = json.loads(plan_to_json(plan))
    inside = document
    for part in path[:-1]:
        inside = inside[part]
    if to is None:
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "to", "expected"),
    [
        (("rate",), "fast", 'rate is "fast": expected a number, without quotes'),
        (("rate",), None, "the plan has no 'rate': add it"),
        (("colour",), "red", "unknown key 'colour': expected one of slotwise, rate"),
        (("threads", "ack"), 3, "'threads' contradicts the rest: plan again"),
        (("allocator",), "x" * 9, None),
        (("cost_per_hour",), 3.0, "'cost_per_hour' contradicts the rest"),
        (("provisioner",), "cheapest", "'provisioner' contradicts the rest"),
        (("placement",), [], "12 threads allocated, 0 placed"),
        (("placement", 0, "slot"), 99, "a thread is in node-a-1/99, but there is no such slot"),
        (("placement", 0, "node"), "moon", "a thread is in moon/0, but there is no such slot"),
        (("placement", 0, "thread"), 1, "'placement' contradicts the rest"),
        (("placement", 0, "operator"), "ack", "'placement' contradicts the rest"),
        (("nodes", 1, "name"), "node-a-1", "duplicate node name 'node-a-1'"),
        (("nodes", 0, "slots"), 1_000_000, "its nodes have more than 1,000,000 slots"),
        (
            ("schedule",),
            {"senders": [[1], [1, 2]], "stall_steps": 0, "stages": 1},
            "its schedule are not eq",
        ),
        (
            ("schedule",),
            {"senders": [[2**70]], "stall_steps": 0, "stages": 1},
            "senders.0.0 is 11805916",
        ),
        (("allocation", "operators", 0, "bundles", 0, "count"), 10**15, "threads allocated"),
        (("pipeline", "goals", "rate"), -1, "pipeline.goals.rate is -1: expected a number > 0"),
        (("pipeline", "profiles", "ack"), None, "operator 'ack' has no profile"),
    ],
)
def test_a_file_that_is_no_consistent_plan(
    plan: Plan, path: tuple[Any, ...], to: Any, expected: str | None
) -> None:
    text = changed(plan, *path, to=to)
    if expected is None:
        assert plan_from_json(text) != plan
        return
    with pytest.raises(SlotwiseError) as raised:
        plan_from_json(text)
    assert str(raised.value).startswith("not a plan: ")
    assert expected in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '{"rate": NaN}', "[" * 9999, "\0"])
def test_what_is_no_plan_at_all(text: str) -> None:
    with pytest.raises(SlotwiseError, match=r"^not a plan: [^\n]+$"):
        plan_from_json(text)


def outcome(text: str) -> Plan | str:
    try:
        return plan_from_json(text)
    except SlotwiseError as error:
        return str(error)


def test_mutated_plans_are_plans_or_one_sentence(plan: Plan) -> None:
    rng = random.Random(1)
    text = plan_to_json(plan)
    for _ in range(500):
        at = rng.randrange(len(text))
        mutated = text[:at] + rng.choice('0-9"{}[],:.eaN \\') + text[at + rng.randrange(3) :]
        result = outcome(mutated)
        assert isinstance(result, Plan) or "\n" not in result


def test_the_algorithms_named_are_those_that_were_used() -> None:
    plan = slotwise.plan("linear", rate=100, allocator="lsa", provisioner="cheapest", placer="sam")
    document = json.loads(plan_to_json(plan))
    assert [document[key] for key in ("allocator", "provisioner", "placer")] == [
        "lsa",
        "cheapest",
        "sam",
    ]
    assert document["pipeline"]["scheduler"] == {
        "allocator": "lsa",
        "provisioner": "cheapest",
        "placer": "sam",
    }
