"""Paper 1 on Spark: planned, predicted, simulated and measured, with measured profiles.

Every pair of allocator and placer plans a DAG for the highest rate that fits a small cluster, whose
slots have a CPU quota. Each plan runs at rising rates until it is unstable. Its highest stable
rate, and CPU, memory and latencies below it, are compared with what was foreseen for the same plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import slotwise
from slotwise.model import (
    Cluster,
    FixedLoad,
    Goals,
    Node,
    Pipeline,
    Plan,
    Platform,
    Profiles,
    Refused,
)
from slotwise.planner import Request, plan_with
from slotwise.prediction import predict
from slotwise.profilers.experiment import Slot, prepared
from slotwise.profilers.measuring import Times
from slotwise.profilers.operators import Procedure
from slotwise.profilers.peaks import Saturation
from slotwise.profilers.platform import measure_hops
from slotwise.simulation import Arrivals, simulate
from slotwise.spark.stage import Stage, stage
from slotwise.studies.cases import OWN, PAIRS, highest_rate, routed_by_weights, scheduler
from slotwise.studies.on_spark import climbing
from slotwise.studies.on_spark import points as tables
from slotwise.studies.on_spark.climbing import Climb, Step, climb
from slotwise.studies.on_spark.lab import Lab, Row, Trial
from slotwise.studies.on_spark.points import PARTS, At, Point
from slotwise.studies.on_spark.profiles import measured_pipelines, measured_platform
from slotwise.studies.on_spark.shared_cluster import shared
from slotwise.studies.on_spark.warming import warm_up
from slotwise.studies.paper import paper
from slotwise.studies.study import Effort, Study, Table

SLOT = Slot(cores=0.25, memory_mb=512)
NODES, SLOTS_PER_NODE = 3, 2
DAGS = ("linear", "diamond", "star", "finance")
THREAD_COUNTS = (1, 8, 24)
"""Of an operator in a slot, for its profile; rates between them are interpolated. Where fewer fill
the slot, more are not tried.
"""
PROCEDURE = Procedure(
    Saturation(flood=Times(6.0, 4.0), confirm=Times(1.0, 4.0), fewest=40),
    most_threads=THREAD_COUNTS[-1],
    with_costs=False,
    counts=THREAD_COUNTS,
    until_full=True,
)
WEIGHTED_PARTS = climbing.PARTS[2:]
"""Steps of plans that are routed by weights, of which only the highest rate is asked for."""
RATE_STEP = 0.02
"""Planned and simulated rates are found to this part of themselves."""
SIMULATED_INPUTS = 20_000
LEAST_GAIN = 0.03
"""Weights that are predicted to gain less than this part are not measured."""


def study(lab: Lab) -> Study:
    dags = lab.effort.pick(DAGS, DAGS[:1])
    pairs = lab.effort.pick(PAIRS, (PAIRS[1], PAIRS[-1]))
    pipelines = measured(lab, dags)
    plans = {
        (dag, f"{allocator}+{placer}"): highest_plan(pipelines[dag], allocator, placer)
        for dag in dags
        for allocator, placer in pairs
    }
    weighted = {
        key: routed
        for key, plan in plans.items()
        if key[1] == OWN and _gains(plan, routed := _weighted(plan))
    }
    trials = [_trial(" ".join(key), plan) for key, plan in plans.items()]
    trials += [
        _trial(" ".join((*key, "weighted")), plan, WEIGHTED_PARTS) for key, plan in weighted.items()
    ]
    rows = lab.measured(trials, lambda: _stage(list(plans.values())))
    points = [
        _point(key, plan, rows, lab.effort)
        for key, plan in lab.effort.each(list(plans.items()), "simulations")
    ]
    return told(points, lab.effort)


def measured(lab: Lab, dags: Sequence[str]) -> Mapping[str, Pipeline]:
    """The DAGs on `cluster`, with measured profiles of all operators between source and sink, and
    the platform's costs in the same slot.
    """
    with shared(lambda: prepared(SLOT, lab.progress)) as on:
        platform = measured_platform(lab, on, measure_hops)
        pipelines = {dag: _on_cluster(slotwise.load(dag), platform) for dag in dags}
        return measured_pipelines(lab, on, pipelines, PROCEDURE, ("operator",))


def _on_cluster(pipeline: Pipeline, platform: Platform) -> Pipeline:
    """Sources and sinks have one thread, and no work but their hops."""
    ends = {
        each.name: FixedLoad() for each in pipeline.topology.operators if each.kind != "operator"
    }
    return replace(
        pipeline,
        profiles=Profiles({**pipeline.profiles.by_operator, **ends}, float(SLOT.memory_mb)),
        catalog=(),
        cluster=cluster(),
        platform=platform,
        goals=Goals(),
    )


def cluster() -> Cluster:
    memory_gb = SLOT.memory_mb / 1024
    nodes = (
        Node(f"node-{n + 1}", SLOTS_PER_NODE, SLOTS_PER_NODE * memory_gb) for n in range(NODES)
    )
    return Cluster(tuple(nodes), memory_gb)


def highest_plan(pipeline: Pipeline, allocator: str, placer: str) -> Plan:
    """For the highest rate that the pair still places on the cluster, to RATE_STEP of it.

    Raises Refused if it does not place one tuple/s.
    """
    chosen = scheduler(allocator, placer)

    def planned(rate: float) -> Plan | None:
        try:
            return plan_with(Request(pipeline, rate, chosen))
        except Refused:
            return None

    best = plan_with(Request(pipeline, 1.0, chosen))
    while (larger := planned(2 * best.rate)) is not None:
        best = larger
    refused = 2 * best.rate
    while refused - best.rate > RATE_STEP * best.rate:
        middle = (best.rate + refused) / 2
        found = planned(middle)
        best, refused = (best, middle) if found is None else (found, refused)
    return best


def _gains(plan: Plan, routed: Plan) -> bool:
    """Whether weights are predicted to gain enough to be measured."""
    assert plan.predicted is not None
    assert routed.predicted is not None
    return routed.predicted.capacity > (1 + LEAST_GAIN) * plan.predicted.capacity


def _weighted(plan: Plan) -> Plan:
    routed = routed_by_weights(plan)
    return replace(routed, predicted=predict(routed))


@contextmanager
def _stage(plans: Sequence[Plan]) -> Iterator[Stage]:
    """With room for all threads of any plan's slot, and warm."""
    with stage(
        cluster(),
        threads_per_slot=max(int(np.bincount(plan.placement.slots).max()) for plan in plans),
        slot_memory_mb=SLOT.memory_mb,
        cores=SLOT.cores,
    ) as on:
        warm_up(on)
        yield on


def _trial(name: str, plan: Plan, parts: Sequence[float] = climbing.PARTS) -> Trial:
    def measure(on: Stage, plan: Plan) -> Row:
        return climb(on, plan, parts, work="none").row()

    return Trial(name, plan, measure)


def _point(key: tuple[str, str], plan: Plan, rows: Mapping[str, Row], effort: Effort) -> Point:
    assert plan.predicted is not None
    seen, routed = Climb.of(rows[" ".join(key)]), rows.get(" ".join((*key, "weighted")))
    step = RATE_STEP * max(plan.predicted.capacity, climbing.LEAST_PART * plan.rate)
    return Point(
        *key,
        plan,
        highest_rate(plan, effort, step),
        seen,
        tuple(_at(plan, step, effort) for step in seen.nearest_to(PARTS)),
        None if routed is None else Climb.of(routed),
    )


def _at(plan: Plan, step: Step, effort: Effort) -> At:
    simulated = simulate(
        plan,
        step.rate,
        arrivals=Arrivals("constant"),
        tuples=effort.pick(SIMULATED_INPUTS, SIMULATED_INPUTS // 10),
        warm_up=0.2,
        seed=effort.seed,
    )
    return At(step, predict(plan, step.rate), simulated)


def told(points: Sequence[Point], effort: Effort) -> Study:
    rates, latencies = tables.rate_accuracy_table(points), tables.latency_accuracy_table(points)
    use, weights = tables.use_accuracy_table(points), tables.weights_table(points)
    return Study(
        name="model-driven",
        title="Model-driven scheduling on Spark: planned, predicted, simulated and measured",
        citation=paper("model-driven").citation,
        quick=effort.quick,
        seed=effort.seed,
        assumptions=(
            f"{NODES} nodes with {SLOTS_PER_NODE} slots each on one machine; a slot is an executor "
            f"with a CPU quota of {SLOT.cores:g} cores and {SLOT.memory_mb} MB.",
            "Profiles and the platform's costs are measured on the same machine: an operator alone "
            f"in such a slot, with {', '.join(map(str, THREAD_COUNTS))} threads, or until they "
            "fill the slot. Sources and sinks have one thread, and no work but hops.",
            "The measured rate is the highest step at which no thread is asked for more than it "
            "can do, or what comes out at the next one, which is more than it can do; steps are "
            f"{', '.join(f'{part:.0%}' for part in climbing.PARTS[:5])} and so on of the predicted "
            f"capacity, {climbing.MEASURED_S:g} s each, until one is too much.",
            "R² is the square of the correlation, as in the paper: it says how well figures lie on "
            "a line, and the mean error how far they are off.",
            "CPU and memory that are planned are what the allocator charges, CPU in proportion to "
            "the rate at which it was measured.",
            f"Routing weights are measured where they are predicted to gain {LEAST_GAIN:.0%} "
            "or more.",
            "Memory is the heap that is live after a garbage collection.",
        ),
        comparisons=(),
        tables=(
            tables.rate_table(points),
            rates,
            tables.latency_table(points),
            latencies,
            tables.use_table(points),
            use,
            weights,
        ),
        charts=tables.charts(points),
        remarks=_remarks(rates, latencies, use, points),
        on_spark=True,
    )


def _remarks(
    rates: Table, latencies: Table, use: Table, points: Sequence[Point]
) -> tuple[str, ...]:
    ways = {row[1]: row[2:] for row in rates.rows if row[0] == "all DAGs"}
    gains = [tables.gain_percent(point) for point in points if point.weighted is not None]
    found = [
        "Rate, against the measured one: "
        + "; ".join(
            f"{way} R² {_text(r2)}, {_text(error)} % off" for way, (r2, error) in ways.items()
        )
        + ".",
        "Latency: "
        + "; ".join(
            f"{row[0]} {row[1]} R² {_text(row[3])}, {_text(row[4])} % off" for row in latencies.rows
        )
        + ".",
        "Use of slots: "
        + "; ".join(
            f"{row[0]} {row[1]} R² {_text(row[3])}, {_text(row[4])} points off" for row in use.rows
        )
        + ".",
    ]
    if gains:
        found.append(
            f"Routing weights change the highest stable rate of {OWN} by {min(gains):+.0f} to "
            f"{max(gains):+.0f} %."
        )
    return tuple(found)


def _text(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "–"
