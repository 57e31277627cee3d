"""One day of one workload under one strategy: a controller, a plan that stays, or a clairvoyant."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from slotwise import __version__, registry
from slotwise.adaptation import Adaptation, Rules
from slotwise.adaptation_history import HOUR_S
from slotwise.adaptation_summary import Account
from slotwise.json_data import json_data
from slotwise.model import Plan, Schedule, SlotwiseError
from slotwise.parts import Row
from slotwise.simulation import Arrivals, Options, SimulatedDeployment, Speeds
from slotwise.studies.controller_workloads import WORKLOADS, Workload
from slotwise.studies.foresight import foreseen
from slotwise.studies.load_shapes import AS_USUAL, Shape, shapes

CLAIRVOYANT = "clairvoyant"
MEAN, PEAK, STATIC = "static, mean", "static, peak", "static"
PERIOD_S = 10.0
SAMPLES = 120
"""Values of a day in charts."""

COLUMNS: Mapping[str, type] = {
    "seconds": float,
    "violation_s": float,
    "slot_hours": float,
    "machine_hours": float,
    "cost": float,
    "changes": int,
    "refused": int,
    "recommended": int,
    "pause_s": float,
    "worst_p99_ms": float,
    "longest_decision_s": float,
    "slots": list,
    "p99_ms": list,
    "problem": str,
}


@dataclass(frozen=True)
class Trial:
    """A part of the study: see parts.py."""

    workload: str
    shape: str
    strategy: str
    """A controller as on the command line, MEAN, PEAK or CLAIRVOYANT."""
    day_s: float
    seed: int
    columns: ClassVar = COLUMNS

    @functools.cached_property
    def key(self) -> str:
        given = (WORKLOADS[self.workload], shapes(self.day_s, self.seed)[self.shape])
        content = "\0".join((__version__, repr(self), *map(repr, given)))
        return hashlib.sha256(content.encode()).hexdigest()

    def row(self) -> Row:
        """What cannot be planned or simulated says why in `problem`."""
        empty: Row = dict.fromkeys(COLUMNS)
        workload, shape = WORKLOADS[self.workload], shapes(self.day_s, self.seed)[self.shape]
        try:
            if self.strategy == CLAIRVOYANT:
                return empty | _foreseen(workload, shape)
            return empty | _adapted(workload, shape, self.strategy, self.seed)
        except SlotwiseError as error:
            return empty | {"problem": str(error)}


def _adapted(workload: Workload, shape: Shape, strategy: str, seed: int) -> Row:
    """The day begins with the plan for its first demand, unless the plan stays."""
    demands = {MEAN: shape.mean_demand(), PEAK: shape.peak_demand()}
    plan = workload.plan(demands.get(strategy, shape.demand(0.0)))
    name = STATIC if strategy in demands else strategy
    controller = registry.controller(registry.choice(name))
    options = Options(
        arrivals=Arrivals(schedule=shape.rate), speeds=_speeds(plan, shape), seed=seed
    )
    deployment = SimulatedDeployment.for_periods(plan, PERIOD_S, workload.rate, options)
    goals = plan.pipeline.goals
    loop = Adaptation(deployment, controller, goals, Rules(period_s=PERIOD_S))
    account = Account(goals)
    slots: list[tuple[float, float | None]] = []
    p99_ms: list[tuple[float, float | None]] = []
    for step in loop.steps(shape.day_s):
        account.add(step)
        slots.append((step.at_s, float(step.plan.slots)))
        p99_ms.append((step.at_s, step.seen.latency_p99_ms if step.seen else None))
    figures = json_data(account.summary)
    return {key: figures[key] for key in COLUMNS if key in figures} | {
        "slots": _sampled(slots, shape.day_s),
        "p99_ms": _sampled(p99_ms, shape.day_s),
    }


def _speeds(plan: Plan, shape: Shape) -> Speeds:
    """Only those that change: the simulator is faster without."""
    operators = [operator.name for operator in plan.pipeline.topology.operators]
    nodes = [plan.cluster.nodes[0].name]
    return Speeds(_following(operators, shape.speed), _following(nodes, shape.node_speed))


def _following(names: Sequence[str], speed: Schedule) -> dict[str, Schedule]:
    return {} if speed == AS_USUAL else dict.fromkeys(names, speed)


def _foreseen(workload: Workload, shape: Shape) -> Row:
    made = foreseen(workload, shape, PERIOD_S)
    hours = PERIOD_S / HOUR_S
    slots = [((n + 0.5) * PERIOD_S, float(plan.slots)) for n, plan in enumerate(made.plans)]
    return {
        "seconds": shape.day_s,
        "violation_s": 0.0,
        "slot_hours": sum(plan.slots for plan in made.plans) * hours,
        "machine_hours": sum(plan.machines for plan in made.plans) * hours,
        "cost": sum(plan.cost_per_hour for plan in made.plans) * hours,
        "changes": made.changes,
        "pause_s": 0.0,
        "slots": _sampled(slots, shape.day_s),
    }


def _sampled(values: Sequence[tuple[float, float | None]], day_s: float) -> list[float | None]:
    """The highest value in each of SAMPLES parts of the day; without one, that of the part before.
    None: nothing is known yet.
    """
    found: list[float | None] = [None] * SAMPLES
    for at_s, value in values:
        place = min(SAMPLES - 1, int(at_s / day_s * SAMPLES))
        if value is not None:
            found[place] = max(value, found[place] or 0.0)
    for place in range(1, SAMPLES):
        if found[place] is None:
            found[place] = found[place - 1]
    return found
