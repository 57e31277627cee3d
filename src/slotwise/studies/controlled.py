"""A controller at work on a simulated deployment, and what was seen meanwhile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.controllers.base import Controller
from slotwise.controllers.static import Static
from slotwise.model import Change, Deployment, Goals, Observation, Plan


@dataclass
class Watched:
    """A deployment that notes what happened every so often, whoever drives it."""

    deployment: Deployment
    every_s: float
    seen: list[Observation] = field(default_factory=list)
    """One per interval. One in which the plan was changed may be longer: it has the whole pause."""
    _noted_s: float = 0.0

    @property
    def plan(self) -> Plan:
        return self.deployment.plan

    @property
    def events(self) -> Sequence[str]:
        return self.deployment.events

    @property
    def resumed_s(self) -> float:
        return self.deployment.resumed_s

    def now_s(self) -> float:
        return self.deployment.now_s()

    def advance(self, seconds: float) -> None:
        end_s = self.now_s() + seconds
        while (left_s := end_s - self.now_s()) > 1e-6:
            intervals = math.floor(self.now_s() / self.every_s + 1e-6) + 1
            self.deployment.advance(min(left_s, intervals * self.every_s - self.now_s()))
            self._note()

    def observe(self, last_s: float) -> Observation:
        return self.deployment.observe(last_s)

    def apply(self, plan: Plan) -> Change:
        change = self.deployment.apply(plan)
        self._note()
        return change

    def _note(self) -> None:
        """At the end of an interval, or after it."""
        if math.floor(self.now_s() / self.every_s + 1e-6) > self._noted_s / self.every_s + 1e-6:
            self.seen.append(self.deployment.observe(self.now_s() - self._noted_s))
            self._noted_s = self.now_s()


def controlled(
    watched: Watched,
    controller: Controller,
    goals: Goals,
    seconds: float,
    rules: Rules,
    from_s: float = 0.0,
) -> list[Step]:
    """Run for so long; the controller may change the plan from `from_s` on."""
    loop = Adaptation(watched, Static(), goals, rules)
    steps = list(loop.steps(from_s))
    loop.controller = controller
    return steps + list(loop.steps(seconds - from_s))


def applied(steps: list[Step]) -> list[Step]:
    return [step for step in steps if step.outcome == "applied"]
