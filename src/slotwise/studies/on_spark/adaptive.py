"""Paper 2 on Spark: latency and traffic under the default, the offline and the online scheduler.

The bundled chain and the soccer query, with operators that also burn CPU, at rates for a small
machine. The online scheduler is given the traffic that Spark shows under the default placement. A
change in mid-run is measured as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import slotwise
from slotwise.model import (
    Cluster,
    FixedLoad,
    NetworkDelays,
    Node,
    Observation,
    Operator,
    Pipeline,
    Plan,
    Profile,
    ServiceRate,
)
from slotwise.placers.round_robin import RoundRobin
from slotwise.placers.topology import TopologyBased
from slotwise.placers.traffic import TrafficBased
from slotwise.prediction import predict
from slotwise.simulation import Keys
from slotwise.spark.query.outline import outline
from slotwise.spark.stage import Stage, stage
from slotwise.spark.waiting import await_pace, await_tuples
from slotwise.studies.given import given_threads, placed
from slotwise.studies.on_spark.holding import Held, held, watched
from slotwise.studies.on_spark.hops import Hops, chains, hops_of
from slotwise.studies.on_spark.lab import Lab, Row, Trial
from slotwise.studies.on_spark.schedules import Changed, Measured, Scheduled, told
from slotwise.studies.on_spark.shared_cluster import On, shared
from slotwise.studies.schedulers import SCHEDULERS, Seen, Workload, steady
from slotwise.studies.study import Effort, Study
from slotwise.workloads.adaptive import SENSORS, SOCCER_THREADS, chain_threads

NODES, SLOTS, QUOTA = 4, 2, 0.2
"""Nodes, slots of each, and cores of a slot."""
BURNT_US = 100
"""CPU time that an operator with an expression takes for a tuple, beside its own logic."""
RATE_PER_SPOUT = 100.0
SOCCER_RATE = 400.0
ROUNDS = 2
"""Each plan is measured so often, in turn and back, so that a drift hits all alike."""
BATCH_S = 15.0
"""Of the run that changes its plan: a new placement is in effect from the next batch on."""
HOPS_ONLY, CHANGE = "hops", "change"


@dataclass(frozen=True)
class Times:
    """Seconds of a trial."""

    warm_up: float
    measured: float

    @property
    def text(self) -> str:
        return f"{self.measured:g} s"


def study(lab: Lab) -> Study:
    times = lab.effort.pick(Times(3.0, 12.0), Times(3.0, 5.0))
    found = workloads(lab.effort)
    with shared(lambda: _cluster(next(iter(found.values())))) as on:
        hops = _hops(lab, on, times)
        measured = {
            name: _measured(lab, on, name, workload, times) for name, workload in found.items()
        }
        name, workload = list(found.items())[lab.effort.pick(1, 0)]
        change = _change(lab, on, name, workload, measured[name], times)
    platform = hops.platform(QUOTA)
    results = {}
    for name, workload in lab.effort.each(list(found.items()), "simulations"):
        known = replace(workload, pipeline=replace(workload.pipeline, platform=platform))
        plans = {who: _replanned(known, each.plan) for who, each in measured[name].items()}
        results[name] = Scheduled(
            measured=measured[name],
            predicted={who: _predicted(plan) for who, plan in plans.items()},
            predicted_cores={who: _cores(plan) for who, plan in plans.items()},
            simulated=steady(known, 0.0, lab.effort),
        )
    return told(results, hops, change, lab.effort)


# -- what is run ----------------------------------------------------------------------------------


def workloads(effort: Effort) -> dict[str, Workload]:
    """By name: the chain two and four times replicated, and the soccer query."""
    replications = effort.pick((2, 4), (2,))
    found = {f"chain × {each}": _chain(each) for each in replications}
    return {**found, **effort.pick({"soccer": _soccer()}, {})}


def _chain(replication: int) -> Workload:
    pipeline = small(slotwise.load("chain"))
    threads = chain_threads(pipeline, replication, replication, replication)
    rate = replication * RATE_PER_SPOUT
    return Workload(pipeline, threads, rate, Keys(forwarded=0.5), spread=0.0)


def _soccer() -> Workload:
    pipeline = small(slotwise.load("soccer"))
    return Workload(pipeline, SOCCER_THREADS, SOCCER_RATE, Keys(number=SENSORS), spread=0.0)


def small(pipeline: Pipeline) -> Pipeline:
    """On the cluster of this study, with operators that burn CPU. A busy thread takes a core, which
    is several slots; hops are not known yet.
    """
    operators = tuple(_burning(operator) for operator in pipeline.topology.operators)
    profiles = {operator.name: _profile(pipeline, operator) for operator in operators}
    memory_gb = pipeline.slot_memory_gb
    nodes = tuple(Node(f"node-{n + 1}", SLOTS, SLOTS * memory_gb) for n in range(NODES))
    return replace(
        pipeline,
        topology=replace(pipeline.topology, operators=operators),
        profiles=replace(pipeline.profiles, by_operator=profiles),
        cluster=Cluster(nodes, memory_gb),
        network=NetworkDelays(0.0, 0.0, 0.0, 0.0),
    )


def _profile(pipeline: Pipeline, operator: Operator) -> Profile:
    """What it burns; of one without an expression, an aggregate, its work is taken for nothing."""
    profile = pipeline.profiles[operator.name]
    if not isinstance(profile, ServiceRate):
        return profile
    if operator.logic.expr is None:
        return FixedLoad()
    return replace(profile, rate=1e6 / BURNT_US, cpu=1 / QUOTA, service_scv=0.0)


def _burning(operator: Operator) -> Operator:
    """Its logic after BURNT_US of CPU; without an expression, as it is."""
    if operator.logic.expr is None:
        return operator
    expr = f"IF(burn_us({BURNT_US}) >= 0, {operator.logic.expr}, NULL)"
    return replace(operator, logic=replace(operator.logic, expr=expr))


@contextmanager
def _cluster(first: Workload) -> Iterator[Stage]:
    """With a quota for each slot, and after a first query in all of them: Java compiles."""
    plan = _default(first)
    threads = 4 * plan.allocation.total_threads
    with stage(plan.cluster, threads_per_slot=threads, cores=QUOTA) as on:
        held(on, plan, warm_up_s=5.0, measured_s=5.0)
        yield on


# -- measuring ------------------------------------------------------------------------------------


def _default(workload: Workload) -> Plan:
    allocation = given_threads(workload.pipeline, workload.rate, workload.threads)
    return placed(workload.pipeline, allocation, RoundRobin())


def _hops(lab: Lab, on: On[Stage], times: Times) -> Hops:
    plans = chains(_chain(1).pipeline, RATE_PER_SPOUT)
    names = {far: f"{HOPS_ONLY} {far}, {times.text}" for far in plans}
    trials = [Trial(names[far], plan, _holding(times)) for far, plan in plans.items()]
    rows = lab.measured(trials, on)
    return hops_of(plans, {far: Held.of(rows[names[far]]) for far in plans}, QUOTA)


def _holding(times: Times) -> Callable[[Stage, Plan], Row]:
    def measure(on: Stage, plan: Plan) -> Row:
        seen = held(on, plan, warm_up_s=times.warm_up, measured_s=times.measured)
        return seen.row()

    return measure


def _measured(
    lab: Lab, on: On[Stage], name: str, workload: Workload, times: Times
) -> dict[str, Measured]:
    """By scheduler. The first round begins with the default, whose traffic the online one sees."""
    default = _default(workload)
    rounds = lab.effort.pick(ROUNDS, 1)

    def trial(who: str, plan: Plan, number: int) -> Trial:
        return Trial(f"{name}, {who}, {times.text}, round {number}", plan, _holding(times))

    first = trial("default", default, 1)
    seen = Held.of(lab.measured([first], on)[first.name])
    allocation = default.allocation
    online = placed(workload.pipeline, allocation, TrafficBased(), default, seen.thread_traffic)
    offline = placed(workload.pipeline, allocation, TopologyBased())
    plans = {"default": default, "offline": offline, "online": online}
    trials = {
        (who, number): trial(who, plan, number)
        for number in range(1, rounds + 1)
        for who, plan in (plans.items() if number % 2 else reversed(plans.items()))
    }
    rows = lab.measured(list(trials.values()), on)
    return {
        who: Measured(
            plans[who],
            QUOTA,
            tuple(Held.of(rows[trials[who, number].name]) for number in range(1, rounds + 1)),
        )
        for who in SCHEDULERS
    }


def _change(
    lab: Lab,
    on: On[Stage],
    name: str,
    workload: Workload,
    measured: Mapping[str, Measured],
    times: Times,
) -> Changed:
    online = measured["online"].plan

    def measure(stage: Stage, plan: Plan) -> Row:
        return _changing(stage, plan, online, times)

    trial = Trial(f"{name}, {CHANGE}, {times.text}", measured["default"].plan, measure)
    row = lab.measured([trial], on)[trial.name]
    points = tuple((second, ms) for second, ms in row["latency_ms"])
    before, after = Held.of(row["before"]), Held.of(row["after"])
    return Changed(name, before, after, row["at_s"], row["pause_s"], points)


def _changing(stage: Stage, plan: Plan, online: Plan, times: Times) -> Row:
    options = stage.options(batch_seconds=BATCH_S)
    with stage.query(outline(plan), options) as run:
        await_tuples(run)
        await_pace(run)
        before = watched(run, times.warm_up, times.measured)
        points = _points(run.observe(times.measured))
        change = run.apply(online)
        after = watched(run, 0.0, times.measured)
        points += _points(run.observe(times.measured))
    return {
        "before": before.row(),
        "after": after.row(),
        "at_s": change.at_s,
        "pause_s": change.pause_s,
        "latency_ms": points,
    }


def _points(seen: Observation) -> list[tuple[float, float]]:
    series = seen.series
    if series is None:
        return []
    began = seen.start_s or 0.0
    return [
        (began + (number + 0.5) * series.window_s, ms)
        for number, ms in enumerate(series.latency_ms)
        if ms is not None
    ]


# -- predicting -----------------------------------------------------------------------------------


def _replanned(known: Workload, plan: Plan) -> Plan:
    """The plan as it would be predicted with what hops take."""
    charged = replace(plan, pipeline=known.pipeline)
    return replace(charged, predicted=predict(charged))


def _predicted(plan: Plan) -> Seen:
    assert plan.predicted is not None
    return Seen.of(plan, plan.predicted)


def _cores(plan: Plan) -> float:
    """Predicted, all slots of the cluster together."""
    assert plan.predicted is not None
    idle = plan.pipeline.platform.slot_cpu * (plan.cluster.slots - len(plan.placement.used_slots))
    return idle + QUOTA * sum(slot.cpu or 0.0 for slot in plan.predicted.slots)
