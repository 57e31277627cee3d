"""One moment of a run, what is believed of it and what is forecast: plans are tried on it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from slotwise.controllers._candidates import Candidates
from slotwise.controllers._forecast import Forecast
from slotwise.controllers._goals import LATENCIES, SPARE_AT_FIRST, most_busy, must_hold
from slotwise.controllers._present import Present, present
from slotwise.controllers._trial import Trial, tried
from slotwise.controllers._turns import Turns
from slotwise.controllers.base import Situation
from slotwise.model import Goals, Plan, Prediction, SlotwiseError, missed
from slotwise.model.deployment import RESTART_PAUSE_S
from slotwise.prediction import predict

LATELY_S, LONG_S = 600.0, 300.0
OFTEN = 0.05
"""Goals that are missed in a larger part of the last minutes are not missed by chance, once a plan
was in effect for LONG_S and has recovered from the change to it."""
MOST_MISJUDGED = 2.0
LAST, NEARLY, SAME = 3, 0.85, 1.01
"""The mean of so many periods is not above this part of its limit; a rate that is no more than this
much higher is the same."""


@dataclass(frozen=True)
class Outlook:
    situation: Situation
    ahead: Forecast

    @cached_property
    def goals(self) -> Goals:
        """What must hold."""
        return must_hold(self.situation.goals)

    @cached_property
    def now(self) -> Present:
        return present(self.situation)

    @cached_property
    def candidates(self) -> Candidates:
        situation = self.situation
        return Candidates(self.now, situation.plan, situation.seen, situation.goals)

    def patience_s(self, usual_s: float) -> float:
        """How long it must have been quiet before slots are given back: twice as long for each time
        that they were needed again; 0 while they are being given back.
        """
        turns = Turns.of(self.situation)
        return 0.0 if turns.shrinking else usual_s * 2.0**turns.taken_back

    @property
    def restart_s(self) -> float:
        for change in reversed(self.situation.changes):
            if change.how == "restart":
                return change.pause_s
        return RESTART_PAUSE_S

    @cached_property
    def missed_lately(self) -> tuple[bool, ...]:
        """Per period of the last minutes under this plan: was a goal missed?"""
        lately = self.situation.last(LATELY_S)
        return tuple(bool(missed(self.goals.judge(seen))) for seen in lately)

    @property
    def is_missed(self) -> bool:
        """In the last two periods, or often."""
        periods = len(self.situation.last(2 * self.situation.period_s))
        return all(self.missed_lately[-periods:]) or self.is_missed_often

    @property
    def is_missed_often(self) -> bool:
        """In the last period, and in too many of the last minutes."""
        each = self.missed_lately
        return each[-1] and self.situation.covers(LONG_S) and sum(each) > OFTEN * len(each)

    def is_as_ever(self, seconds: float) -> bool:
        """No goal was missed or nearly missed lately, and the rate will not be higher."""
        lately = self.situation.last(LATELY_S)
        known = max(seen.offered_rate for seen in lately)
        if any(self.missed_lately) or self.ahead.high(seconds) > SAME * known:
            return False
        last = lately[-LAST:]
        limits = {name: getattr(self.goals, name) for name in LATENCIES}
        limits["busiest"] = most_busy(self.goals)
        for name, limit in limits.items():
            found = [value for seen in last if (value := getattr(seen, name)) is not None]
            if limit and found and sum(found) / len(found) > NEARLY * limit:
                return False
        return True

    def will_be_missed(self, seconds: float) -> bool:
        """By the prediction, whose latencies are scaled to those that are measured."""
        if self.is_as_ever(seconds):
            return False
        soon = self._predicted(self.ahead.high(seconds))
        if soon.busiest > most_busy(self.goals):
            return True
        seen = self.situation.seen
        now = self._predicted(max(seen.offered_rate, 1e-9))
        for name in LATENCIES:
            wanted, measured, before, after = (
                getattr(of, name) for of in (self.goals, seen, now, soon)
            )
            if wanted is None or not before or after is None:
                continue
            if measured is None or math.isinf(before):
                measured, before = 1.0, 1.0
            if measured * max(after / before, 1.0) > wanted and after > before:
                return True
        return False

    def _predicted(self, rate: float) -> Prediction:
        return predict(self.now.plan, rate)

    def kept(self, seconds: float) -> Trial:
        """The plan in effect goes on. What the simulation does not know of is added: as often as
        goals were missed lately, they will be.
        """
        trial = tried(self.now, self.situation.plan, self.ahead, seconds, self.goals)
        if not self.is_missed_often:
            return trial
        part = sum(self.missed_lately) / len(self.missed_lately)
        # The recovery is some of that time already: a plan that misses goals for all of it must not
        # look worse than another one that does.
        return replace(trial, lasting_s=max(trial.lasting_s, part * seconds - trial.recovery_s))

    def stricter(self, keep: Trial) -> Goals:
        """The goals, less what the simulation finds too little for the plan in effect."""
        if not self.is_missed_often:
            return self.goals
        found = {}
        for name in LATENCIES:
            wanted, simulated = getattr(self.goals, name), keep.figure(name)
            lately = [getattr(seen, name) for seen in self.situation.last(60.0)]
            if wanted is None or not simulated or None in lately:
                continue
            times = sum(lately) / len(lately) / simulated
            found[name] = wanted / min(max(times, 1.0), MOST_MISJUDGED)
        return replace(self.goals, **found)

    def tried(self, plan: Plan, seconds: float, goals: Goals, rate: float = 0.0) -> Trial:
        """Another plan takes over, at least at that rate."""
        ahead, of = self.ahead.at_least(rate), self.situation
        return tried(self.now, plan, ahead, seconds, goals, of.pause_s(plan), of.wait_s)

    def rank(self, trial: Trial) -> tuple[float, ...]:
        """Seconds in violation, in steps of what a restart takes: it would take one to give back
        what a faster recovery needed. Then cost, slots and latency.
        """
        latency_ms = trial.figure("latency_ms")
        return (
            math.ceil(trial.violation_s / (self.restart_s + self.situation.period_s) - 1e-6),
            trial.plan.cost_per_hour,
            trial.plan.slots,
            math.inf if latency_ms is None else latency_ms,
        )

    def moves(self, plan: Plan) -> bool:
        return plan.threads == self.situation.plan.threads

    def moved(self, seconds: float) -> Iterator[Plan]:
        """The same threads elsewhere."""
        return self.candidates.moved(self.ahead.high(seconds))

    def sized(self, seconds: float) -> Iterator[Plan]:
        """Other threads or machines, cheapest first."""
        return self.candidates.sized(self.ahead.high(seconds))

    def highest(self, past_s: float) -> float:
        """The highest rate of the past and of the forecast."""
        since_s = self.situation.now_s - past_s
        past = (rate for at_s, rate in reversed(self.situation.rates) if at_s > since_s)
        return max(self.ahead.high(), max(past, default=0.0))

    def saving(self, plan: Plan) -> float:
        """The part of the slots or the cost that it saves; 0 where it takes more of either."""
        return self._part_saved(plan.cost_per_hour, plan.slots)

    def _part_saved(self, cost_per_hour: float, slots: int) -> float:
        before = self.situation.plan
        if cost_per_hour > before.cost_per_hour * (1 + 1e-9) or slots > before.slots:
            return 0.0
        cost = 1 - cost_per_hour / before.cost_per_hour if before.cost_per_hour > 0 else 0.0
        return max(cost, 1 - slots / before.slots)

    def smaller(self, rate: float, least: float) -> Iterator[Plan]:
        """Plans for that rate that save the part `least` of the slots or the cost, or more."""
        for plan in self.candidates.sized(rate):
            if self.saving(plan) < least:
                return
            yield plan

    def most_saved(self, rate: float) -> float:
        """The part that no plan for that rate saves more than. Takes little time."""
        slots, most = self.situation.plan.slots, most_busy(self.goals, SPARE_AT_FIRST)
        if slots < 2 or self._predicted(rate).busiest * slots > most * (slots - 1):
            return 0.0
        with contextlib.suppress(SlotwiseError):
            return self._part_saved(*self.candidates.least(rate))
        return 0.0
