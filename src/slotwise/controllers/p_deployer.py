"""Paper 3's P-Deployer: monitor, correct the profiles, plan again, until the target holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from slotwise.controllers._measured import loads, offered, visits
from slotwise.controllers._options import check_positive
from slotwise.controllers._plans import changed, in_pipeline, planned
from slotwise.controllers.base import Situation
from slotwise.learning import Learned, Lesson, learned
from slotwise.learning.work import Correction
from slotwise.model import (
    Choice,
    Decision,
    Gain,
    Observation,
    OperatorLoad,
    Plan,
    Profiles,
    Refused,
    counted,
    is_stable,
    missed,
)
from slotwise.model.decision import kind_of
from slotwise.model.goals import TOLERANCE
from slotwise.rates import sent_per_tuple

BUDGET = ("machines", "cost_per_hour", "headroom")
"""Goals that no round is to reach by more machines."""
MOST_RAISED = 1.5
"""Times a profile is raised in one round, at most, until the plan differs."""
TOLD = 3
"""Operators that a reason names of each kind."""
IDLE = 0.3
"""Where no operator is busier than this, it is not for want of threads that goals are missed."""


@dataclass(frozen=True)
class PDeployer:
    """One round of the MAPE loop (paper 3, sections 4 and 6) each `seconds` under a plan.

    - Monitor and analyse: the target is the goal for the rate, or all that is offered if that is
      less, within the goals for latencies. It is missed where most periods miss it. Without a goal
      for the rate it is the highest rate that was planned for or is offered.
    - If it holds, the plan stays. So it does while a backlog of earlier rounds is worked off.
    - Plan: every profile takes the time and CPU that were measured, where these are more than it
      says. Operators that fall short of what their profiles promise are raised by the part `raised`
      at least: the bottleneck, whose queue grows most, and those with a thread that cannot keep up.
      Then the pipeline is planned again for the target, by `p-deployer` both for threads and for
      places; if the same comes out, they are raised again.
    - Where that takes more machines than the budget allows, the plan stays, and the reason says so.

    A profile is never lowered: what is above the figure that is measured was raised in an earlier
    round. Nothing is given back when less is offered. O(operators × periods) beside placing.
    """

    name: ClassVar[str] = "p-deployer"
    seconds: float = 60.0
    raised: float = 0.1

    def __post_init__(self) -> None:
        check_positive(seconds=self.seconds, raised=self.raised)

    def decide(self, situation: Situation) -> Decision:
        if not situation.covers(self.seconds):
            return Decision.keep(f"fewer than {self.seconds:g} s were observed under this plan")
        found = _Round(situation, situation.last(self.seconds))
        said = f"round {1 + len(situation.changes)}: {found.reached}"
        if not found.falls_short:
            return Decision.keep(f"{said}, the target holds")
        if found.works_off:
            return Decision.keep(f"{said}, while a backlog is worked off")
        if found.bottleneck.utilisation < IDLE:
            return Decision.keep(f"{said}, but more threads do not help: {found.queue}")
        try:
            plan, learning = self._planned_again(found)
        except Refused as error:
            return Decision.keep(f"{said}, and the target is out of reach: {error}")
        gain = Gain("throughput", found.throughput, found.target)
        return changed(situation, plan, f"{said}; {learning}", gain)

    def _planned_again(self, found: _Round) -> tuple[Plan, str]:
        """The new plan, and what it learned. Raises Refused."""
        before, lessons = found.situation.plan, learned(found.situation.plan, found.window)
        short, step = found.short, 1 + self.raised
        factors = {name: max(step, min(asked, MOST_RAISED)) for name, asked in short.items()}
        while True:
            profiles = corrected(before, lessons, factors)
            measured = replace(lessons.of(before.pipeline), profiles=profiles)
            choice = Choice(self.name)
            plan = planned(before, measured, found.target, choice, choice)
            if kind_of(before, plan) != "keep" or min(factors.values()) * step > MOST_RAISED:
                break
            factors = {name: factor * step for name, factor in factors.items()}
        most = sorted(factors, key=lambda name: -factors[name])[:TOLD]
        by = ", ".join(f"{name} raised by {factors[name] - 1:.0%}" for name in most)
        told = [*slower(lessons), found.queue, by]
        return in_pipeline(plan, replace(before.pipeline, profiles=profiles)), "; ".join(told)


def corrected(plan: Plan, lessons: Learned, least: Mapping[str, float]) -> Profiles:
    """The plan's profiles with what was measured, where it is more; `least` has the factors by
    which those of some operators are raised at least.
    """
    profiles, topology = plan.pipeline.profiles, plan.pipeline.topology
    sent = sent_per_tuple(topology, plan.placement.threads).tolist()
    by_operator = dict(profiles.by_operator)
    for name in {*lessons.lessons, *least}:
        lesson, at_least = lessons.lessons.get(name), least.get(name, 1.0)
        measured = Correction() if lesson is None else lesson.correction
        correction = Correction(
            max(_above(measured.time), at_least),
            max(_above(measured.cpu), at_least),
            measured.service_scv,
        )
        by_operator[name] = correction.of(profiles, name, sent[topology.index[name]])
    return replace(profiles, by_operator=by_operator)


def _above(factor: float) -> float:
    """1 for what differs by chance."""
    return factor if factor > 1 + TOLERANCE else 1.0


def slower(lessons: Learned) -> list[str]:
    """The operators that take longer than their profiles say, the worst first; TOLD at most."""

    def by(lesson: Lesson) -> float:
        return lesson.correction.time

    found = sorted(lessons.lessons.values(), key=by, reverse=True)
    return [
        f"{each.operator} takes {by(each) * each.believed_ms:.3g} ms and not {each.believed_ms:.3g}"
        for each in found[:TOLD]
        if by(each) > 1 + TOLERANCE
    ]


@dataclass(frozen=True)
class _Round:
    """What a round has shown."""

    situation: Situation
    window: Sequence[Observation]

    @property
    def target(self) -> float:
        """The input rate to reach; without a goal for it, the one that is offered, or that the plan
        was made for, if that is more: a backlog at a low rate is no reason to give threads back.
        """
        return self.situation.goals.rate or max(offered(self.window), self.situation.plan.rate)

    @property
    def throughput(self) -> float | None:
        return _mean([seen.throughput for seen in self.window])

    @property
    def reached(self) -> str:
        throughput, latency_ms = self.throughput, _mean([s.latency_ms for s in self.window])
        finished = "an unknown part" if throughput is None else f"{throughput:,.0f}"
        late = "" if latency_ms is None else f" in {latency_ms:,.0f} ms"
        return f"{finished} of {min(self.target, offered(self.window)):,.0f}/s{late}"

    @property
    def falls_short(self) -> bool:
        """Most periods miss a goal, or all of them together do not finish what is offered."""
        goals = self.situation.goals
        short = [
            seen.stable is False
            or any(verdict.goal not in BUDGET for verdict in missed(goals.judge(seen)))
            for seen in self.window
        ]
        return 2 * sum(short) > len(short) or self._is_behind

    @property
    def _is_behind(self) -> bool:
        """By more than counts differ by chance."""
        if self.throughput is None:
            return False
        asked = min(self.target, offered(self.window))
        inputs = max(asked * len(self.window) * self.situation.period_s, 1.0)
        return self.throughput < asked * (1 - TOLERANCE - 3 / math.sqrt(inputs))

    @property
    def works_off(self) -> bool:
        """What is offered is finished, and queues or latencies shrink, though they are too long."""
        first, last = self.window[0], self.window[-1]
        shrinks = any(
            before is not None and after is not None and after < (1 - TOLERANCE) * before
            for before, after in (
                (first.latency_ms, last.latency_ms),
                (self._waiting(first), self._waiting(last)),
            )
        )
        return shrinks and last.stable is not False and not self._is_behind

    def _waiting(self, seen: Observation) -> float | None:
        """Inputs that are in queues, or not taken in; None: not known."""
        per_input = visits(self.situation.plan)
        queues = [
            None if load.queue is None else load.queue / per_input[load.operator]
            for load in seen.operators
        ]
        known = [queue for queue in queues if queue is not None]
        if len(known) < len(queues):
            return seen.backlog
        return sum(known) + (seen.backlog or 0.0)

    @property
    def bottleneck(self) -> OperatorLoad:
        """The operator whose queue grows most; where none grows, that with the longest, else the
        busiest. Not a fixed load, which has no profile to raise.
        """
        first, last = loads(self.window[0]), loads(self.window[-1])
        fixed = self.situation.plan.pipeline.profiles.fixed
        names = [name for name in last if not fixed(name)] or list(last)

        def queued(name: str) -> tuple[float, float, float]:
            queue = _queue(last[name])
            return max(0.0, queue - _queue(first[name])), queue, last[name].utilisation

        return last[max(names, key=queued)]

    @property
    def short(self) -> dict[str, float]:
        """The operators that fall short, with what their busiest thread is asked for: the
        bottleneck, and all with a thread that cannot keep up.
        """
        fixed = self.situation.plan.pipeline.profiles.fixed
        asked = {self.bottleneck.operator: 1.0}
        for thread in self.window[-1].threads:
            if not is_stable(thread.utilisation) and not fixed(thread.operator):
                most = max(asked.get(thread.operator, 1.0), thread.utilisation)
                asked[thread.operator] = most
        return asked

    @property
    def queue(self) -> str:
        load, queue = self.bottleneck, _queue(self.bottleneck)
        known = round(queue) if math.isfinite(queue) else 0
        waiting = f" and has {counted(known, 'tuple')} waiting" if known else ""
        return f"{load.operator} is {load.utilisation:.0%} busy{waiting}"


def _queue(load: OperatorLoad) -> float:
    """Tuples that wait, where that is not counted by Little's law; 0: not known. Infinite where it
    was not measured but predicted, and has no bound.
    """
    if load.queue is not None:
        return load.queue
    return load.arrival_rate * (load.waiting_ms or 0.0) / 1000


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
