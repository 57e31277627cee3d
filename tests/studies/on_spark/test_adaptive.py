"""Paper 2's study on Spark, from made measurements to its tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise.model import FixedLoad, Plan, ServiceRate
from slotwise.placers.round_robin import RoundRobin
from slotwise.prediction import predict
from slotwise.studies.given import given_threads, placed
from slotwise.studies.on_spark.adaptive import BURNT_US, QUOTA, workloads
from slotwise.studies.on_spark.holding import Held, held_of
from slotwise.studies.on_spark.hops import SLOTS, Hops, chains, hops_of
from slotwise.studies.on_spark.schedules import Changed, Measured, Scheduled, told
from slotwise.studies.schedulers import SCHEDULERS, Seen, Workload
from slotwise.studies.study import Effort

WORKLOADS = workloads(Effort())


def default(workload: Workload) -> Plan:
    allocation = given_threads(workload.pipeline, workload.rate, workload.threads)
    return placed(workload.pipeline, allocation, RoundRobin())


def held(plan: Plan) -> Held:
    """As if it did what is predicted."""
    return held_of(replace(predict(plan), stable=True))


def scheduled(workload: Workload) -> Scheduled:
    plan = default(workload)
    seen = Seen.of(plan, predict(plan))
    return Scheduled(
        measured={who: Measured(plan, QUOTA, (held(plan), held(plan))) for who in SCHEDULERS},
        predicted=dict.fromkeys(SCHEDULERS, seen),
        predicted_cores=dict.fromkeys(SCHEDULERS, 0.5),
        simulated=dict.fromkeys(SCHEDULERS, seen),
    )


def test_operators_take_what_they_burn() -> None:
    for workload in WORKLOADS.values():
        for operator in workload.pipeline.topology.operators:
            profile = workload.pipeline.profiles[operator.name]
            burns = f"burn_us({BURNT_US})" in (operator.logic.expr or "")
            assert burns == isinstance(profile, ServiceRate)
            assert burns or isinstance(profile, FixedLoad)


def test_every_hop_of_a_chain_goes_equally_far() -> None:
    plans = chains(WORKLOADS["chain × 2"].pipeline, 100.0)
    traffic = {far: predict(plan) for far, plan in plans.items()}
    assert list(plans) == list(SLOTS)
    assert traffic["in a slot"].inter_slot_traffic == 0
    assert traffic["between slots of a node"].inter_slot_traffic == pytest.approx(500.0)
    assert traffic["between slots of a node"].inter_node_traffic == 0
    assert traffic["between nodes"].inter_node_traffic == pytest.approx(500.0)


def test_hops_are_what_is_left_of_latency_and_cpu() -> None:
    """3 ms a hop and 1 % of a slot for an idle one; slots with threads take 31 % each."""
    plans = chains(WORKLOADS["chain × 2"].pipeline, 100.0)

    def made(plan: Plan) -> Held:
        used = set(plan.placement.used_slots.tolist())
        cpu = tuple(0.31 if slot in used else 0.01 for slot in range(plan.cluster.slots))
        service = dict.fromkeys(plan.threads, 0.1)
        return replace(held(plan), latency_ms=5 * 3.0 + 0.6, slot_cpu=cpu, service_ms=service)

    found = hops_of(plans, {far: made(plan) for far, plan in plans.items()}, QUOTA)
    assert list(found.delay_ms.values()) == pytest.approx([3.0, 3.0, 3.0])
    assert found.idle_cores == pytest.approx(0.01 * QUOTA)
    in_slot_us = (0.30 * QUOTA / 100 * 1e6 - 600) / 5
    assert found.cpu_us["in a slot"] == pytest.approx(max(in_slot_us, 0.0))
    two_slots_us = (2 * 0.30 * QUOTA / 100 * 1e6 - 600) / 5
    assert found.cpu_us["between nodes"] == pytest.approx(two_slots_us)


def test_the_platform_of_hops_charges_what_was_measured() -> None:
    hops = Hops(100.0, dict.fromkeys(SLOTS, 3.0), dict.fromkeys(SLOTS, 150.0), 0.01)
    platform = hops.platform(QUOTA)
    buffers = platform.buffers_per_s(np.array([100.0]))[0]
    taken_us = buffers * (platform.in_slot.send_buffer_us + platform.in_slot.receive_buffer_us)
    assert taken_us / 100.0 == pytest.approx(150.0)
    assert platform.between_nodes.delay_ms == 3.0


def test_what_was_held_survives_a_journal() -> None:
    seen = held(default(WORKLOADS["chain × 2"]))
    assert Held.of(seen.row()) == seen


def test_a_study_is_told_with_tables_and_charts() -> None:
    results = {name: scheduled(workload) for name, workload in WORKLOADS.items()}
    hops = Hops(100.0, dict.fromkeys(SLOTS, 3.0), dict.fromkeys(SLOTS, 150.0), 0.01)
    one = next(iter(results.values())).measured["default"].rounds[0]
    changed = Changed("chain × 2", one, one, 20.0, 0.4, ((1.0, 12.0), (2.0, 11.0)))
    made = told(results, hops, changed, Effort(quick=True))
    assert made.on_spark
    assert all(table.rows for table in made.tables)
    assert all(chart.lines for chart in made.charts)
    assert "for 3 of 3 workloads" in made.remarks[0]
