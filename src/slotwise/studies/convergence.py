"""P-Deployer's MAPE loop at work: its controller on a simulated deployment until the target holds.

Figures 10 and 11 of paper 3: throughput and machines by the round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.controllers.p_deployer import PDeployer
from slotwise.learning.work import Correction
from slotwise.model import Choice, Goals, Pipeline, Plan, Scheduler, missed
from slotwise.planner import Request, plan_with
from slotwise.simulation import Options, SimulatedDeployment
from slotwise.studies.study import Chart, Effort, Line, Table

SCHEDULER = Scheduler(Choice("p-deployer"), Choice("largest-first"), Choice("p-deployer"))
PERIOD_S, ROUND_S, MOST_S = 5.0, 20.0, 1800.0
RULES = Rules(period_s=PERIOD_S, warm_up_s=PERIOD_S, changes_per_hour=1000)
PERIODS = round(ROUND_S / PERIOD_S)
UNDERRATED = 0.8
"""Profiles that lack what the engine and the operating system take; how much is assumed."""
ROUNDS = "Rounds of the MAPE loop, with profiles that are a fifth too low"


@dataclass(frozen=True)
class Round:
    """One plan of the loop."""

    throughput: float
    """Inputs per second at its end."""
    machines: int


@dataclass(frozen=True)
class Deployed:
    """The plan that met the target, and the rounds that led there, its own included."""

    plan: Plan
    rounds: tuple[Round, ...]

    @property
    def machines(self) -> int:
        return machines_of(self.plan)

    @property
    def first_rate(self) -> float:
        """What the first round's plan sustained, tuples/s."""
        return self.rounds[0].throughput


def machines_of(plan: Plan) -> int:
    """Those that hold a thread."""
    return len(np.unique(plan.cluster.slot_node[plan.placement.slots]))


def p_deployer_plan(pipeline: Pipeline, rate: float) -> Plan:
    """By the paper's own pair, on as many machines as that takes."""
    return plan_with(Request(unbudgeted(pipeline), rate, SCHEDULER))


def unbudgeted(pipeline: Pipeline) -> Pipeline:
    return replace(pipeline, goals=replace(pipeline.goals, machines=None))


def deployed(pipeline: Pipeline, target: float, effort: Effort, believed: float = 1.0) -> Deployed:
    """From a first plan that takes operators for `believed` times as dear as they are."""
    goals = replace(pipeline.goals, machines=None, rate=target)
    truth = replace(pipeline, goals=goals)
    first = p_deployer_plan(_taken_for(truth, believed), target)
    deployment = SimulatedDeployment(
        replace(first, pipeline=truth), target, Options(seed=effort.seed)
    )
    if believed != 1:
        deployment.apply(first)  # what operators cost stays as it was
    rounds, throughputs, in_a_row = [], list[float](), 0
    for step in Adaptation(deployment, PDeployer(seconds=ROUND_S), goals, RULES).steps(MOST_S):
        if step.outcome in ("kept", "applied") and step.seen is not None:
            throughputs.append(step.seen.throughput or 0.0)
        in_a_row = in_a_row + 1 if _holds(step, goals) else 0
        if step.outcome == "applied" or in_a_row == PERIODS:
            last = throughputs[-PERIODS:]
            rounds.append(Round(sum(last) / len(last), machines_of(step.plan)))
            throughputs.clear()
        if in_a_row == PERIODS:
            plan = replace(deployment.plan, pipeline=truth)
            return Deployed(plan, tuple(rounds))
    raise AssertionError(f"no plan of {pipeline.topology.name} meets {target:g}/s")


def _holds(step: Step, goals: Goals) -> bool:
    if step.outcome != "kept" or step.seen is None:
        return False
    return bool(step.seen.stable) and not missed(goals.judge(step.seen))


def _taken_for(pipeline: Pipeline, factor: float) -> Pipeline:
    """The pipeline as somebody sees it who takes its operators for so many times as dear."""
    if factor == 1:
        return pipeline
    profiles, correction = pipeline.profiles, Correction(factor, factor)
    by_operator = {name: correction.of(profiles, name, 1.0) for name in profiles.by_operator}
    return replace(pipeline, profiles=replace(profiles, by_operator=by_operator))


Converged = Mapping[tuple[str, float], Deployed]
"""By topology and target."""


def rounds_table(found: Converged) -> Table:
    return Table(
        ROUNDS,
        ("topology", "target/s", "round", "throughput/s", "of the target %", "machines"),
        tuple(
            (topology, target, n, each.throughput, 100 * each.throughput / target, each.machines)
            for (topology, target), run in found.items()
            for n, each in enumerate(run.rounds, start=1)
        ),
    )


def rounds_charts(found: Converged) -> tuple[Chart, Chart]:
    """Throughput as a part of the target, and machines, by the round."""

    def lines(figure: Callable[[float, Round], float]) -> tuple[Line, ...]:
        return tuple(
            Line(
                f"{topology}, {target:g}/s",
                tuple(float(n) for n in range(1, len(run.rounds) + 1)),
                tuple(figure(target, each) for each in run.rounds),
            )
            for (topology, target), run in found.items()
        )

    return (
        Chart(
            "rounds-throughput",
            "Throughput by the round of the MAPE loop",
            "round",
            "% of the target",
            lines(lambda target, each: 100 * each.throughput / target),
            whole_x=True,
            levels=(("target", 100.0),),
        ),
        Chart(
            "rounds-machines",
            "Machines by the round of the MAPE loop",
            "round",
            "machines",
            lines(lambda target, each: float(each.machines)),
            whole_x=True,
        ),
    )


def first_round_percent(found: Converged) -> list[float]:
    """What first rounds reach of their targets."""
    return [100 * min(1.0, run.first_rate / target) for (_, target), run in found.items()]
