"""How long controllers take to decide: `python -m benchmarks.decisions`.

On the workloads of the study of controllers, and on a pipeline with a thousand threads at 100,000
tuples/s, at moments when a plan should be changed: after a step up, with a node that is slow, in a
quiet time. Every controller decides on the same situations, in one process, after one pass over
those of a workload to compile. Times are of this process's CPU, so that a busy machine slows them
less. Prints Markdown for docs/; asserts nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tests.builders import chain

from slotwise import registry
from slotwise.adaptation import adapted
from slotwise.adaptation_history import decided
from slotwise.controllers.base import Situation
from slotwise.model import (
    Choice,
    Decision,
    FixedLoad,
    Goals,
    Observation,
    Pipeline,
    Plan,
    Profiles,
    Schedule,
    Scheduler,
    ServiceRate,
    VmType,
)
from slotwise.planner import Request, plan_with
from slotwise.simulation import Arrivals, Options, SimulatedDeployment, Speeds
from slotwise.studies.controller_workloads import WORKLOADS, Workload

AIM_S = 2.0
PERIOD_S = 10.0
CALM_S, TROUBLE_S = 60.0, 120.0
"""As planned, and then otherwise."""
QUIET_S, LOOKED_AT_S = 600.0, 330.0
"""With half of the rate that was planned for; decided upon in the last part."""
STEP, SLOW = 2.0, 0.5
FIRST = "vld"
OPERATORS, THREADS, RATE, BUSY = 10, 100, 100_000.0, 0.8
"""The large pipeline: a chain, with so many threads each at 80 %."""
LARGE = f"{OPERATORS * THREADS:,} threads"
SCALE = 500.0
"""A period of the large pipeline is simulated for so many times less."""
Moment = tuple[str, str]
"""Workload and what happens."""


def main() -> None:
    moments = dict(at_workloads())
    moments |= at_large()
    controllers = [name for name in registry.CONTROLLERS if name != "static"]
    for name in controllers:
        for moment, situations in moments.items():
            if moment[0] == FIRST:
                times_s(name, situations)
    print(
        f"| controller (aim: {AIM_S:g} s) | decisions | changes | median of changes: s "
        f"| longest: s | at | longest, {LARGE}: s |"
    )
    print("| --- | --: | --: | --: | --: | --- | --: |")
    for name in controllers:
        found = {moment: times_s(name, situations) for moment, situations in moments.items()}
        print(row(name, found), flush=True)


def row(name: str, found: Mapping[Moment, Sequence[tuple[float, bool]]]) -> str:
    each = [took for times in found.values() for took in times]
    changes = [took_s for took_s, is_change in each if is_change]
    longest = {moment: max(took_s for took_s, _ in times) for moment, times in found.items()}
    large_s = max(took_s for moment, took_s in longest.items() if moment[0] == LARGE)
    took_s, moment = max((s, moment) for moment, s in longest.items() if moment[0] != LARGE)
    median_s = statistics.median(changes) if changes else 0.0
    return (
        f"| {name} | {len(each)} | {len(changes)} | {median_s:.3f} | {took_s:.2f} "
        f"| {', '.join(moment)} | {large_s:.2f} |"
    )


def times_s(name: str, situations: Sequence[Situation]) -> list[tuple[float, bool]]:
    """(seconds, whether it is a change) of each decision."""
    controller, found = registry.controller(Choice(name)), []
    for situation in situations:
        began = time.process_time()
        decision = decided(controller, situation)
        found.append((time.process_time() - began, decision.plan is not None))
    return found


@dataclass
class Listener:
    """A controller that keeps the plan, and all situations."""

    name: ClassVar[str] = "listener"
    heard: list[Situation] = field(default_factory=list)

    def decide(self, situation: Situation) -> Decision:
        self.heard.append(replace(situation, rates=tuple(situation.rates)))
        return Decision.keep("listening")


def at_workloads() -> Iterator[tuple[Moment, list[Situation]]]:
    for name, workload in WORKLOADS.items():
        plan = workload.plan(1.0)
        step = Options(arrivals=Arrivals(schedule=Schedule.step(CALM_S, STEP)))
        yield (name, "step up"), heard(workload, plan, step, TROUBLE_S, TROUBLE_S)
        nodes = {plan.cluster.nodes[0].name: Schedule.step(CALM_S, SLOW)}
        slow = Options(speeds=Speeds({}, nodes))
        yield (name, "slow node"), heard(workload, plan, slow, TROUBLE_S, TROUBLE_S)
        larger = workload.plan(STEP)
        yield (name, "quiet"), heard(workload, larger, Options(), QUIET_S, LOOKED_AT_S)


def heard(
    workload: Workload, plan: Plan, options: Options, seconds: float, last_s: float
) -> list[Situation]:
    """The situations of the last `last_s` seconds."""
    deployment = SimulatedDeployment.for_periods(plan, PERIOD_S, workload.rate, options)
    listener = Listener()
    for _ in adapted(deployment, listener, CALM_S + seconds):
        pass
    return listener.heard[-round(last_s / PERIOD_S) :]


def at_large() -> Iterator[tuple[Moment, list[Situation]]]:
    plan = large_plan(RATE)
    yield (LARGE, "as planned"), stretched(plan, RATE)
    yield (LARGE, "step up"), stretched(plan, STEP * RATE)
    yield (LARGE, "quiet"), stretched(large_plan(STEP * RATE), RATE)


def large_plan(rate: float) -> Plan:
    topology = chain(OPERATORS + 2)
    source, *workers, sink = (operator.name for operator in topology.operators)
    profiles = {
        source: FixedLoad(cpu=0.1),
        **{name: ServiceRate(RATE / BUSY / THREADS) for name in workers},
        sink: ServiceRate(RATE),
    }
    goals = Goals(rate=rate, latency_p99_ms=100.0)
    pipeline = Pipeline(
        topology, Profiles(profiles, 3.5), catalog=(VmType("m", 8, 28.0, 0.4),), goals=goals
    )
    scheduler = Scheduler(Choice("lsa"), Choice("cheapest"), Choice("sam"))
    made = plan_with(Request(pipeline, rate / BUSY, scheduler))
    return replace(made, pipeline=replace(pipeline, scheduler=Scheduler()))


def stretched(plan: Plan, rate: float) -> list[Situation]:
    """Short periods as if they had been long: rates and times as they are, queues longer."""
    short_s = PERIOD_S / SCALE
    deployment = SimulatedDeployment.for_periods(plan, short_s, rate)
    seen: list[Observation] = []
    situations = []
    for period in range(1, round(QUIET_S / PERIOD_S) + 1):
        deployment.advance(short_s)
        found = deployment.observe(short_s)
        seen.append(
            replace(
                found,
                start_s=(period - 1) * PERIOD_S,
                end_s=period * PERIOD_S,
                backlog=SCALE * (found.backlog or 0.0),
                operators=tuple(
                    replace(load, queue=SCALE * (load.queue or 0.0)) for load in found.operators
                ),
            )
        )
        rates = tuple((each.end_s or 0.0, rate) for each in seen)
        goals, now_s = plan.pipeline.goals, period * PERIOD_S
        situations.append(Situation(plan, tuple(seen), goals, now_s, PERIOD_S, rates))
    return situations[:6] + situations[-6:]


if __name__ == "__main__":
    main()
