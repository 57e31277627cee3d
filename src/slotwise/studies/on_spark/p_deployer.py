"""Paper 3 on Spark: machines needed for a target, P-Deployer against METIS, with measured profiles.

A machine is an executor with a small CPU quota. Profiles are costs per tuple, measured with one
thread. Every plan is tried at its target on Spark; the same two searches are made with predictions
and with simulations in place of Spark.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import slotwise
from slotwise.model import (
    Cluster,
    FixedLoad,
    Goals,
    Grouping,
    Logic,
    Node,
    Operator,
    Pipeline,
    Plan,
    ProfileForms,
    Profiles,
    ServiceRate,
    Stream,
    ThreadTable,
    Topology,
    VmType,
)
from slotwise.prediction import predict
from slotwise.profilers.experiment import Slot, prepared
from slotwise.profilers.measuring import Times
from slotwise.profilers.operators import Procedure
from slotwise.profilers.peaks import Saturation
from slotwise.profilers.platform import measure_hops
from slotwise.simulation import Arrivals, simulate
from slotwise.spark.stage import Stage, stage
from slotwise.studies.convergence import machines_of
from slotwise.studies.on_spark.climbing import Climb, Step, climb, step_of
from slotwise.studies.on_spark.deploying import (
    FACTORS,
    LATENCY_MS,
    MOST_MACHINES,
    Try,
    metis,
    p_deployer,
)
from slotwise.studies.on_spark.deployments import Deployments, told
from slotwise.studies.on_spark.lab import Lab, Row, Trial
from slotwise.studies.on_spark.profiles import measured_pipelines, measured_platform
from slotwise.studies.on_spark.shared_cluster import On, shared
from slotwise.studies.on_spark.warming import warm_up
from slotwise.studies.p_deployer import metis_plan
from slotwise.studies.study import Effort, Study

SLOT = Slot(cores=0.25, memory_mb=512)
"""A machine has one."""
THREADS_PER_SLOT = 64
TYPES = {
    "io": "from_json(value, 'text STRING').text",
    "cpu": "IF(burn_us(2000) >= 0, value, NULL)",
    "sojourn": "IF(wait_us(10000) >= 0, value, NULL)",
    "memory": "IF(hold_mb(32) >= 0, value, NULL)",
}
"""What operators of the paper's four types do with a tweet (section 7.1.1), for a small quota."""
SOJOURN = ("sojourn",)
"""Operators of which METIS gets more tasks, as in the paper."""
PROCEDURE = Procedure(Saturation(flood=Times(6.0, 4.0), confirm=Times(1.0, 4.0)), most_threads=1)
STEPS = 2
"""For each target: the plan holds if one of them shows it."""
SIMULATED_INPUTS = 20_000


def study(lab: Lab) -> Study:
    pipelines = measured(lab)
    factors = lab.effort.pick(FACTORS, FACTORS[:1])
    targets = {name: targets_of(pipeline, factors) for name, pipeline in pipelines.items()}
    with shared(_cluster) as on:
        ways: dict[str, Try] = {
            "predicted": predicted,
            "simulated": partial(simulated, lab.effort),
            "measured": partial(on_spark, lab, on),
        }
        found = [
            deployments(name, pipelines[name], targets[name], SOJOURN, ways) for name in pipelines
        ]
    return told(found, lab.effort)


def deployments(
    name: str,
    pipeline: Pipeline,
    targets: Sequence[float],
    multiplied: Collection[str],
    ways: Mapping[str, Try],
) -> Deployments:
    """One topology: both searches in every way, and what was measured foreseen in the others."""
    by_p_deployer = {
        way: {target: p_deployer(pipeline, target, tried) for target in targets}
        for way, tried in ways.items()
    }
    by_metis = {way: metis(pipeline, targets, multiplied, tried) for way, tried in ways.items()}
    attempts = [one for each in by_p_deployer["measured"].values() for one in each.attempts]
    foreseen = {
        way: [
            replace(attempt, steps=tuple(tried(attempt.plan, attempt.rates)))
            for attempt in (*attempts, *by_metis["measured"].attempts)
        ]
        for way, tried in ways.items()
        if way != "measured"
    }
    return Deployments(name, pipeline, tuple(targets), by_p_deployer, by_metis, foreseen)


# -- what is run ----------------------------------------------------------------------------------


def measured(lab: Lab) -> Mapping[str, Pipeline]:
    """By name of the topology, with measured profiles of all operators between source and sink."""
    given = lab.effort.pick(
        {"word-count": slotwise.load("word-count"), "linear": linear(*TYPES)},
        {"linear": linear("cpu")},
    )
    on_machines = {name: small(pipeline) for name, pipeline in given.items()}
    with shared(lambda: prepared(SLOT, lab.progress)) as on:
        platform = measured_platform(lab, on, measure_hops)
        found = measured_pipelines(lab, on, on_machines, PROCEDURE, ("operator",))
    return {
        name: replace(in_proportion(pipeline), platform=platform)
        for name, pipeline in found.items()
    }


def linear(*types: str) -> Pipeline:
    """Operators of these types in a row, between the source and the sink of word count."""
    given = slotwise.load("word-count")
    source, *_, sink = given.topology.operators
    row = (source, *(Operator(each, logic=Logic(expr=TYPES[each])) for each in types), sink)
    streams = tuple(
        Stream(one.name, other.name, grouping=Grouping("shuffle"))
        for one, other in itertools.pairwise(row)
    )
    profiles = dict.fromkeys([operator.name for operator in row], FixedLoad())
    return replace(
        given,
        topology=Topology("linear", row, streams),
        profiles=replace(given.profiles, by_operator=profiles),
    )


def small(pipeline: Pipeline) -> Pipeline:
    """On machines of one SLOT. Sources and sinks have one thread, and no work but their hops."""
    ends = {
        each.name: FixedLoad() for each in pipeline.topology.operators if each.kind != "operator"
    }
    by_operator = {**pipeline.profiles.by_operator, **ends}
    return replace(
        pipeline,
        profiles=Profiles(by_operator, float(SLOT.memory_mb)),
        catalog=(VmType("machine", 1, SLOT.memory_mb / 1024),),
        cluster=None,
        goals=Goals(latency_ms=LATENCY_MS),
    )


def in_proportion(pipeline: Pipeline) -> Pipeline:
    """With tables for more threads than the one that was measured: they do as many times as much,
    until the slot is full.
    """
    profiles = pipeline.profiles

    def longer(table: ThreadTable) -> ThreadTable:
        one = table.rows[0]
        as_service = ServiceRate(one.rate, one.cpu, one.mem)
        return Profiles({"": as_service}, profiles.slot_memory_mb).table("")

    by_operator = {
        name: replace(profile, table=longer(profile.table))
        if isinstance(profile, ProfileForms) and profile.table is not None
        else profile
        for name, profile in profiles.by_operator.items()
    }
    return replace(pipeline, profiles=replace(profiles, by_operator=by_operator))


def targets_of(pipeline: Pipeline, factors: Sequence[float]) -> tuple[float, ...]:
    """Inputs/s in two digits."""
    one_machine = metis_plan(pipeline, 1.0, 1, SOJOURN)
    assert one_machine.predicted is not None
    return tuple(float(f"{factor * one_machine.predicted.capacity:.2g}") for factor in factors)


# -- trying ---------------------------------------------------------------------------------------


def predicted(plan: Plan, rates: Sequence[float]) -> list[Step]:
    return [step_of(rate, predict(plan, rate)) for rate in rates]


def simulated(effort: Effort, plan: Plan, rates: Sequence[float]) -> list[Step]:
    tuples = effort.pick(SIMULATED_INPUTS, SIMULATED_INPUTS // 10)
    arrivals = Arrivals("constant")
    return [
        step_of(rate, simulate(plan, rate, arrivals=arrivals, tuples=tuples, seed=effort.seed))
        for rate in rates
    ]


def on_spark(lab: Lab, on: On[Stage], plan: Plan, rates: Sequence[float]) -> Sequence[Step]:
    def measure(on: Stage, plan: Plan) -> Row:
        assert plan.predicted is not None
        parts = [rate / plan.predicted.capacity for rate in rates for _ in range(STEPS)]
        return climb(on, plan, parts).row()

    at = " and ".join(f"{rate:g}" for rate in rates)
    who = f"{plan.pipeline.topology.name}, {plan.placement.algorithm}"
    trial = Trial(f"{who}, {machines_of(plan)} machines, at {at}/s", on_cluster(plan), measure)
    return Climb.of(lab.measured([trial], on)[trial.name]).steps


def on_cluster(plan: Plan) -> Plan:
    """The same threads in the same slots, on the first machines of the whole cluster."""
    whole = cluster()
    pipeline = replace(plan.pipeline, catalog=(), cluster=whole)
    placed = replace(plan, pipeline=pipeline, cluster=whole)
    return replace(placed, predicted=predict(placed))


def cluster() -> Cluster:
    memory_gb = SLOT.memory_mb / 1024
    nodes = tuple(Node(f"machine-{n + 1}", 1, memory_gb) for n in range(MOST_MACHINES))
    return Cluster(nodes, memory_gb)


@contextmanager
def _cluster() -> Iterator[Stage]:
    with stage(
        cluster(),
        threads_per_slot=THREADS_PER_SLOT,
        slot_memory_mb=SLOT.memory_mb,
        cores=SLOT.cores,
    ) as on:
        warm_up(on)
        yield on
