"""Paper 3's two ways to a number of machines, whoever tries the plans: a model or a run.

P-Deployer plans, tries, corrects its profiles and plans again until the target holds (its MAPE
loop); METIS gets one machine after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from slotwise.model import FixedLoad, Pipeline, Plan, Profile, ProfileForms, Refused
from slotwise.model.goals import TOLERANCE
from slotwise.model.profile import POINTS_PER_CORE
from slotwise.prediction import predict
from slotwise.rates import arrival_rates
from slotwise.studies.convergence import machines_of, p_deployer_plan
from slotwise.studies.on_spark.climbing import Step
from slotwise.studies.p_deployer import metis_plan

MOST_MACHINES = 6
MOST_ROUNDS = 6
RAISED = 1.05
"""Each round of the MAPE loop plans for this much more."""
LATENCY_MS = 500.0
"""The paper's limit for the mean latency."""
BETTER = 1.1
"""After a plan that failed, one is tried if it is predicted to sustain so many times as much."""
MOST_ASKED = 10.0
"""P-Deployer does not plan for more than so many times the target."""
FACTORS = (1.2, 2.0)
"""Targets, as multiples of what one machine is predicted to sustain."""
HOPELESS = 0.85
"""METIS's plans that are predicted to sustain less than this part of a target are not tried."""

Try = Callable[[Plan, Sequence[float]], Sequence[Step]]
"""What a plan does at these input rates, which rise: one step or more for each. Rates above one
that the plan did not sustain may be left out.
"""


@dataclass(frozen=True)
class Attempt:
    """A plan that was tried."""

    plan: Plan
    machines: int
    rates: tuple[float, ...]
    """Inputs/s at which it was to be tried."""
    steps: tuple[Step, ...]

    def best(self, rate: float) -> Step | None:
        """The step at `rate` at which most came out, one at which the target holds before others;
        None: the plan did not get so far.
        """
        there = [step for step in self.steps if math.isclose(step.rate, rate, rel_tol=1e-6)]
        return max(there, key=lambda step: (holds(step), step.throughput or 0.0), default=None)

    def holds(self, rate: float) -> bool:
        """Whether one step at `rate` shows it: another may hold a pause of Java's garbage
        collector.
        """
        step = self.best(rate)
        return step is not None and holds(step)


@dataclass(frozen=True)
class Search:
    """All that was tried, and the machines that each target needs."""

    attempts: tuple[Attempt, ...]
    machines: Mapping[float, int | None]
    """None: more than MOST_MACHINES, or not found in MOST_ROUNDS."""


def holds(step: Step) -> bool:
    """Stable, with the throughput that was asked for and a mean latency within the limit."""
    if not step.stable or step.throughput is None or step.latency_ms is None:
        return False
    enough = step.throughput >= (1 - TOLERANCE) * step.rate
    return enough and step.latency_ms <= LATENCY_MS


def p_deployer(pipeline: Pipeline, target: float, tried: Try) -> Search:
    """The MAPE loop. What a round's machines took more than the profiles say is added to the
    profiles for the next one. Where that gives no plan, or one that is not predicted to sustain
    BETTER times what those that failed are, it plans for 5 % more.
    """
    attempts: list[Attempt] = []
    asked, overhead = target, 0.0
    while len(attempts) < MOST_ROUNDS and asked < MOST_ASKED * target:
        plan = _planned(pipeline, dearer(pipeline, target, overhead), asked)
        if plan is None or not _is_better(plan, attempts):
            asked *= RAISED
            continue
        if (machines := machines_of(plan)) > MOST_MACHINES:
            break
        attempt = Attempt(plan, machines, (target,), tuple(tried(plan, (target,))))
        attempts.append(attempt)
        if attempt.holds(target):
            return Search(tuple(attempts), {target: machines})
        overhead = max(overhead, overhead_of(pipeline, attempt, target))
    return Search(tuple(attempts), {target: None})


def _planned(pipeline: Pipeline, corrected: Pipeline, rate: float) -> Plan | None:
    """By the corrected profiles, of the pipeline as it is. None: P-Deployer refuses where a task
    that fills a machine has tuples to send as well, since that is no bound for its tasks.
    """
    try:
        plan = p_deployer_plan(corrected, rate)
    except Refused:
        return None
    plan = replace(plan, pipeline=pipeline)
    return replace(plan, predicted=predict(plan))


def _is_better(plan: Plan, failed: Sequence[Attempt]) -> bool:
    """A trial takes a minute: moving a thread that is not in the way is not worth one."""
    most = max((_capacity(each.plan) for each in failed), default=0.0)
    return _capacity(plan) >= BETTER * most


def _capacity(plan: Plan) -> float:
    assert plan.predicted is not None
    return plan.predicted.capacity


def overhead_of(pipeline: Pipeline, attempt: Attempt, target: float) -> float:
    """CPU (slots) of the engine's own work, an even share for each operator: what the machines took
    beyond what the profiles say of the tuples that came out. Most of it does not depend on their
    number: pairs of threads exchange buffers, and idle machines take CPU as well.
    """
    step = attempt.best(target)
    if step is None or not step.throughput:
        return 0.0
    used = attempt.plan.placement.used_slots.tolist()
    cpu = math.fsum(min(step.slot_cpu[slot] or 0.0, 1.0) for slot in used)
    charged = math.fsum(
        rate * pipeline.profiles.costs(name).cpu_points / POINTS_PER_CORE
        for name, rate in _rates(pipeline, step.throughput).items()
    )
    return max(cpu - charged, 0.0) / len(pipeline.topology.operators)


def dearer(pipeline: Pipeline, target: float, overhead: float) -> Pipeline:
    """With so much CPU (slots) more for each operator at the target."""
    profiles, rates = pipeline.profiles, _rates(pipeline, target)

    def corrected(name: str, profile: Profile) -> Profile:
        if isinstance(profile, FixedLoad):
            return replace(profile, cpu=profile.cpu + overhead)
        assert isinstance(profile, ProfileForms)
        assert profile.costs is not None
        points = profile.costs.cpu_points + POINTS_PER_CORE * overhead / rates[name]
        return replace(profile, costs=replace(profile.costs, cpu_points=points))

    by_operator = {name: corrected(name, each) for name, each in profiles.by_operator.items()}
    return replace(pipeline, profiles=replace(profiles, by_operator=by_operator))


def _rates(pipeline: Pipeline, target: float) -> dict[str, float]:
    """Tuples/s that each operator without a fixed load handles."""
    arriving = arrival_rates(pipeline.topology, target).operators.tolist()
    names = [operator.name for operator in pipeline.topology.operators]
    rates = dict(zip(names, arriving, strict=True))
    return {name: rate for name, rate in rates.items() if pipeline.profiles.fixed(name) is None}


def metis(
    pipeline: Pipeline, targets: Sequence[float], multiplied: Collection[str], tried: Try
) -> Search:
    """More machines until all targets hold. A plan depends on the machines only, so that it is
    tried for all targets that are left.
    """
    left, attempts = sorted(targets), []
    found: dict[float, int | None] = dict.fromkeys(left)
    for machines in range(1, MOST_MACHINES + 1):
        plan = metis_plan(pipeline, max(targets), machines, multiplied)
        if _capacity(plan) < HOPELESS * left[0]:
            continue
        attempt = Attempt(plan, machines, tuple(left), tuple(tried(plan, left)))
        attempts.append(attempt)
        found |= {target: machines for target in left if attempt.holds(target)}
        left = [target for target in left if found[target] is None]
        if not left:
            break
    return Search(tuple(attempts), found)
