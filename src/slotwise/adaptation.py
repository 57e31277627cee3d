"""The loop that drives a controller over a Deployment: let a period pass, observe, decide, apply.

It works alike with a simulated deployment and one on Spark, and keeps these rules:

- One change at a time: `Deployment.apply` returns when the new plan is in effect, and nothing is
  observed or decided before.
- A controller sees periods under the plan in effect only, from `warm_up_s` after a change or a
  failure on; not figures that are older than the period, nor any where nothing was measured.
- At most `changes_per_hour` changes in any hour, those that are refused included. What a person
  forces counts, but is not limited.
- What the deployment refuses leaves the last good plan in effect. The next change is then tried
  after `back_off_s`, twice as long for each further refusal in a row.
- What `apply` allows less than, what is held or forbidden, and what is one change too many, is
  recommended only.

Each period makes one Step; adaptation_journal.py writes them down, adaptation_summary.py adds them
up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from slotwise.adaptation_history import History, without_plan
from slotwise.control_file import RECOMMENDED, Control, Forced, forced_plan, read_control
from slotwise.controllers.base import Controller
from slotwise.model import (
    Change,
    Decision,
    Deployment,
    Goals,
    ModelError,
    Observation,
    Plan,
    SlotwiseError,
    counted,
)
from slotwise.model.decision import kind_of
from slotwise.model.deployment import check_seconds

Applying = Literal["never", "placement", "all"]
Outcome = Literal["kept", "recommended", "applied", "refused", "not observed", "warming up"]
SHORTEST = 0.5
"""A window that is shorter than this part of a period is no basis for a decision; nor is one that
ended longer ago than that, and than LATE_S."""
LATE_S = 2.0
"""Reports come each second, and are read each second."""


@dataclass(frozen=True)
class Rules:
    """How a controller is driven."""

    period_s: float = 10.0
    apply: Applying = "all"
    warm_up_s: float = 10.0
    """What happens so soon after a change, or after a failure, is not decided upon."""
    changes_per_hour: int = 12
    back_off_s: float = 60.0
    """After a change that was refused, none is tried for so long; for twice as long after each
    further one in a row, up to an hour."""

    def __post_init__(self) -> None:
        check_seconds("period_s", self.period_s)
        if self.apply not in ("never", "placement", "all"):
            raise ModelError(
                f"invalid value '{self.apply}' for apply: expected never, placement or all"
            )
        if not self.warm_up_s >= 0:
            raise ModelError(
                f"invalid value '{self.warm_up_s}' for warm_up_s: expected seconds ≥ 0"
            )
        if not self.back_off_s >= 0:
            raise ModelError(
                f"invalid value '{self.back_off_s}' for back_off_s: expected seconds ≥ 0"
            )
        if self.changes_per_hour < 0:
            raise ModelError(f"{self.changes_per_hour} changes per hour: expected an integer ≥ 0")


@dataclass(frozen=True)
class Step:
    """One period: what was seen, what was decided, what came of it."""

    at_s: float
    """When it ended."""
    since_s: float
    """When it began: the end of the one before. So the pause of a change is in the next period, if
    not in what is observed of it; see Deployment.observe.
    """
    plan: Plan
    """In effect during it."""
    seen: Observation | None
    """None: nothing was measured, or only before this period."""
    outcome: Outcome
    decision: Decision | None = None
    """None: there was none to make."""
    forced: bool = False
    """A person decided, not the controller."""
    change: Change | None = None
    note: str = ""
    """Why it was not applied, or not decided, in one sentence."""
    events: tuple[str, ...] = ()
    """What happened to the deployment, until the decision was applied; see Deployment.events."""
    decided_in_s: float = 0.0
    resumed: bool = False
    """In it the deployment went on after a failure: what was seen before is not decided upon."""


EachStep = Callable[["Adaptation", Step], None]


@dataclass
class Adaptation:
    """A controller at work on a deployment. `steps` drives it."""

    deployment: Deployment
    controller: Controller
    goals: Goals
    rules: Rules = field(default_factory=Rules)
    control: Path | None = None
    """The control file; see control_file.py."""
    stopwatch: Callable[[], float] = time.perf_counter
    """For the time of decisions."""
    history: History = field(init=False)
    recommended: Plan | None = None
    """What was last recommended and not applied."""
    forced: set[str] = field(default_factory=set)
    """The ids of changes that a person has forced, in this run or in those that it goes on from."""
    each_forced: Callable[[str], None] = lambda id: None
    """Called with the id of one before it is made."""
    each_change: Callable[[Step], None] = lambda step: None
    """Called before a change is applied, with its step so far."""
    each_step: EachStep = lambda loop, step: None
    """Called after each period, with its step."""
    _ready_s: float = 0.0
    """Figures from before this are not decided upon."""
    _resumed_s: float = 0.0
    """When the deployment last went on after a failure, as far as is known."""
    _stepped_s: float | None = None
    """When the last period ended."""
    told: int = 0
    """So many events of the deployment are in the steps until now."""

    def __post_init__(self) -> None:
        self.history = History(self.rules.period_s)

    def steps(self, seconds: float) -> Iterator[Step]:
        """Run for so long, one Step after each period. The last period may be shorter."""
        end_s = self.deployment.now_s() + seconds
        while (left_s := end_s - self.deployment.now_s()) > 1e-6:
            step = self._step(min(self.rules.period_s, left_s))
            happened = tuple(self.deployment.events[self.told :])
            self.told += len(happened)
            step = replace(step, events=happened)
            self.each_step(self, step)
            yield step

    def _step(self, period_s: float) -> Step:
        since_s = self.deployment.now_s() if self._stepped_s is None else self._stepped_s
        plan = self.deployment.plan
        self.deployment.advance(period_s)
        self._stepped_s = self.deployment.now_s()
        step = Step(
            self._stepped_s, since_s, plan, None, "not observed", resumed=self._has_resumed()
        )
        try:
            step = replace(step, seen=self._observed(step))
        except SlotwiseError as error:
            step = replace(step, note=str(error))
        return self._acted(step)

    def _has_resumed(self) -> bool:
        """After a failure, since this was last asked; the history then begins again."""
        if self.deployment.resumed_s <= self._resumed_s:
            return False
        self._resumed_s = self.deployment.resumed_s
        self._begin_again(self._resumed_s)
        return True

    def _observed(self, step: Step) -> Observation:
        """Raises SlotwiseError where nothing was measured in this period."""
        seen = self.deployment.observe(step.at_s - step.since_s)
        if seen.end_s is not None and self._is_old(step, seen.end_s):
            raise SlotwiseError(f"the last measurement is from second {seen.end_s:.0f}: too old")
        self.history.offered(step.at_s, seen.offered_rate)
        return seen

    def _is_old(self, step: Step, end_s: float) -> bool:
        """It has nothing of the period, or not of its second half."""
        usual_s = SHORTEST * (step.at_s - step.since_s) + LATE_S
        return end_s <= step.since_s or step.at_s - end_s > usual_s

    def _acted(self, step: Step) -> Step:
        """What a person forces, else what the controller decides."""
        try:
            control = read_control(self.control)
        except SlotwiseError as error:
            control, step = Control(hold=True), replace(step, note=str(error))
        if control.force is not None and control.force.id not in self.forced:
            return self._force(step, control.force)
        if step.seen is None:
            return step
        if not self._is_ready(step.seen):
            return replace(step, outcome="warming up")
        self.history.remember(step.seen)
        return self._decided(step, control)

    def _is_ready(self, seen: Observation) -> bool:
        if seen.start_s is None or seen.end_s is None:
            return True
        long_enough = seen.end_s - seen.start_s >= SHORTEST * self.rules.period_s
        return long_enough and seen.start_s >= self._ready_s - 1e-6

    def _decided(self, step: Step, control: Control) -> Step:
        situation = self.history.situation(self.deployment.plan, self.goals, step.at_s)
        began = self.stopwatch()
        try:
            decision = self.controller.decide(situation)
            self.recommended = None  # until it is recommended again
        except SlotwiseError as error:
            decision = without_plan(error)
        step = replace(step, decision=decision, decided_in_s=self.stopwatch() - began)
        if decision.plan is None:
            return replace(step, outcome="kept")
        if obstacle := self._obstacle(decision, control, step.at_s):
            self.recommended = decision.plan
            note = f"{step.note}; {obstacle}" if step.note else obstacle
            return replace(step, outcome="recommended", note=note)
        return self._applied(step, decision.plan)

    def _obstacle(self, decision: Decision, control: Control, now_s: float) -> str | None:
        """Why the decision is not to be applied."""
        if self.rules.apply == "never":
            return "changes are recommended only (apply never)"
        if self.rules.apply == "placement" and decision.kind != "re-place":
            return "only placements are changed (apply placement)"
        if control.hold:
            return "changes are on hold by the control file"
        if decision.kind in control.forbid:
            return f"the control file forbids to {decision.kind}"
        recent = self.history.within_the_hour(now_s)
        if recent >= self.rules.changes_per_hour:
            return f"{counted(recent, 'change')} within the last hour, as many as allowed"
        left_s = self.history.waits_until_s(self.rules.back_off_s) - now_s
        if left_s > 0:
            return f"the last change was refused: the next one is tried in {left_s:.0f} s"
        return None

    def _force(self, step: Step, forced: Forced) -> Step:
        self.forced.add(forced.id)
        self.each_forced(forced.id)  # before it is made: a killed program must not make it again
        step = replace(step, forced=True)
        try:
            plan = self._forced_plan(forced)
            situation = self.history.situation(step.plan, self.goals, step.at_s)
            reason = f"forced by the control file (id {forced.id})"
            pause_s, wait_s = situation.pause_s(plan), situation.wait_s
            decision = Decision.change(step.plan, plan, reason, pause_s, wait_s=wait_s)
            step = self._applied(replace(step, decision=decision), plan)
        except SlotwiseError as error:
            step = replace(step, outcome="refused", note=str(error))
        return step

    def _forced_plan(self, forced: Forced) -> Plan:
        plan = self.recommended
        if forced.plan != RECOMMENDED:
            assert self.control is not None
            plan = forced_plan(forced, self.control)
        if plan is None:
            raise SlotwiseError("nothing is recommended now")
        if kind_of(self.deployment.plan, plan) == "keep":
            raise SlotwiseError("the plan is in effect already")
        return plan

    def _applied(self, step: Step, plan: Plan) -> Step:
        """Apply it; what is refused or fails leaves the plan that the deployment then has: the last
        one, or the new one, if it could not be seen to be in effect.
        """
        assert step.decision is not None
        self.each_change(step)
        change, note = None, step.note
        try:
            change = self.deployment.apply(plan)
        except SlotwiseError as error:
            note = str(error)
        self._begin_again(self.deployment.now_s())
        if change is None and self.deployment.plan is not plan:
            self.history.note_refused(step.at_s)
            return replace(step, outcome="refused", note=note)
        self.history.note(step.at_s, step.plan, step.decision, change)
        self.recommended = None
        return replace(step, outcome="applied", change=change, note=note)

    def _begin_again(self, from_s: float) -> None:
        """Only what is seen from the warm-up after that moment on is decided upon."""
        self.history.begin_again()
        self._ready_s = max(self._ready_s, from_s + self.rules.warm_up_s)


def adapted(
    deployment: Deployment,
    controller: Controller,
    seconds: float,
    rules: Rules | None = None,
    goals: Goals | None = None,
    control: Path | None = None,
) -> Iterator[Step]:
    """Run `deployment` for so long under the controller; the goals are the plan's unless given."""
    wanted = goals or deployment.plan.pipeline.goals
    return Adaptation(deployment, controller, wanted, rules or Rules(), control).steps(seconds)
