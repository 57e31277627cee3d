"""A run under a controller from its options to its account: what `run` and `simulate` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from slotwise import registry
from slotwise.adaptation import Adaptation, EachStep, Rules, Step
from slotwise.adaptation_history import decided
from slotwise.adaptation_journal import journaled
from slotwise.adaptation_summary import Account
from slotwise.controllers.base import Controller, Situation
from slotwise.model import Deployment, Plan, SlotwiseError
from slotwise.simulation import SimulatedDeployment

REHEARSED, PERIODS, INPUTS = 2.0, 3, 1000.0
"""What is rehearsed: so many times the rate, so many periods, of at most so many inputs each."""
Each = Callable[[Step, Step | None], None]
"""Called after each step, with the one before."""


@dataclass(frozen=True)
class Following:
    """A controller, how it is driven, and its files."""

    controller: Controller
    rules: Rules
    decisions: Path | None = None
    """The journal."""
    control: Path | None = None
    """The control file."""
    each_step: EachStep = lambda loop, step: None
    """As Adaptation.each_step."""

    @classmethod
    def by(
        cls,
        controller: str | None,
        rules: Rules,
        decisions: Path | None = None,
        control: Path | None = None,
    ) -> Following:
        """The usual controller if it is not named. Raises SlotwiseError for one that is not known,
        and where the decisions could not be written.
        """
        if decisions is not None and not decisions.resolve().parent.is_dir():
            raise SlotwiseError(f"{decisions}: no such directory: use another --decisions")
        made = registry.controller(registry.choice(controller or registry.USUAL_CONTROLLER))
        return cls(made, rules, decisions, control)

    def rehearse(self, plan: Plan) -> None:
        """Let the controller decide once, on what it would see at REHEARSED times the plan's rate.
        Where nothing of it was compiled before, that takes a minute; in a run it would be one in
        which nobody looks.
        """
        decided(self.controller, _overloaded(plan, self.rules.period_s))

    def loop(self, deployment: Deployment) -> Adaptation:
        goals = deployment.plan.pipeline.goals
        return Adaptation(
            deployment,
            self.controller,
            goals,
            self.rules,
            self.control,
            each_step=self.each_step,
        )


def _overloaded(plan: Plan, period_s: float) -> Situation:
    """Simulated for few inputs, whatever the rate; taken for whole periods."""
    rate = REHEARSED * plan.rate
    short_s = min(period_s, INPUTS / rate)
    running = SimulatedDeployment(plan, rate, resolution_s=short_s, kept_s=short_s)
    seen = []
    for end_s in (period_s * number for number in range(1, PERIODS + 1)):
        running.advance(short_s)
        seen.append(replace(running.observe(short_s), start_s=end_s - period_s, end_s=end_s))
    rates = [(each.end_s or 0.0, each.offered_rate) for each in seen]
    goals, now_s = plan.pipeline.goals, PERIODS * period_s
    return Situation(plan, seen, goals, now_s, period_s, rates)


def follow(
    loop: Adaptation,
    seconds: float,
    decisions: Path | None,
    each: Each,
    is_over: Callable[[], bool] = lambda: False,
) -> Account:
    """Drive it for so long, or until `is_over`. Raises SlotwiseError where the journal cannot be
    written.
    """
    account = Account(loop.goals)
    before: Step | None = None
    for step in journaled(loop, seconds, decisions):
        account.add(step)
        each(step, before)
        before = step
        if is_over():
            break
    return account
