"""Paper 5's DRS: processors divided best, and machines added and given back for a latency bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from slotwise import queueing
from slotwise.controllers._bounds import Bound, bound_of, milliseconds
from slotwise.controllers._measured import offered
from slotwise.controllers._options import check_parts, check_positive
from slotwise.controllers._plans import changed
from slotwise.controllers._processors import Processors
from slotwise.controllers.base import Situation
from slotwise.fitting import answered
from slotwise.learning import learned
from slotwise.model import Allocation, Decision, Gain, Pipeline, Plan, Refused
from slotwise.model.goals import TOLERANCE
from slotwise.rates import arrival_rates

REACHABLE = 1.05
"""Times the service times alone: the shortest sojourn time that is asked of processors."""
UNBOUNDED = 2.0
"""Likewise where there is no bound and processors cannot keep up."""
WAITING = 0.3
"""Threads that are less busy do not make tuples wait."""
LEAST_GAIN = 0.02
"""Of the sojourn time; less is within what measurements vary."""


@dataclass(frozen=True)
class Drs:
    """Measures λ and μ of every operator and the input rate over `seconds`, each period weighing
    `smoothing` (α) times the next one; then estimates E[T] by Erlang's formula.

    - Over the bound: the fewest processors that keep it (Program 6), on as many machines as hold
      them; these are used whole, and their processors divided best (Program 4).
    - Under the bound by the part `spare` with fewer machines, `give_back_s` after the last change:
      machines are given back.
    - Else, another division of the same processors, if within `horizon_s` it saves more waiting
      than its pause causes.

    Nothing is changed within `cool_down_s` of the last change. The bound is the goal `sojourn_ms`,
    else `latency_ms`, else the percentile that is missed by most; `reserved` slots are kept from
    processors. See `Bound` for how estimates are compared with it. Without any of these goals,
    machines are added only where processors cannot keep up, and none is given back.
    O(log K × K log N) for K processors and N operators, beside placing.
    """

    name: ClassVar[str] = "drs"
    smoothing: float = 0.8
    seconds: float = 60.0
    cool_down_s: float = 120.0
    give_back_s: float = 600.0
    spare: float = 0.2
    horizon_s: float = 1800.0
    reserved: int = 0

    def __post_init__(self) -> None:
        check_parts(smoothing=self.smoothing, spare=self.spare)
        check_positive(
            seconds=self.seconds,
            cool_down_s=self.cool_down_s,
            give_back_s=self.give_back_s,
            horizon_s=self.horizon_s,
        )
        if self.reserved < 0:
            raise ValueError(f"reserved: invalid value '{self.reserved}': expected an integer ≥ 0")

    def decide(self, situation: Situation) -> Decision:
        if not situation.covers(self.seconds):
            return Decision.keep(f"fewer than {self.seconds:g} s were observed under this plan")
        since_s = situation.now_s - situation.changed_s
        if situation.changes and since_s < self.cool_down_s:
            return Decision.keep(f"the last change was {since_s:.0f} s ago")
        if offered(situation.last(self.seconds)) <= 0:
            return Decision.keep("nothing arrives")
        view = self._view(situation)
        if view.is_broken:
            return self._more(view)
        if since_s >= self.give_back_s and (fewer := self._fewer(view)) is not None:
            return fewer
        return self._rebalanced(view)

    def _view(self, situation: Situation) -> _View:
        """The measurer."""
        window, plan = situation.last(self.seconds), situation.plan
        rate = offered(window, self.smoothing)
        pipeline = learned(plan, window, self.smoothing).of(plan.pipeline)
        estimate_ms = sojourn_ms(pipeline, rate, plan.threads)
        bound = bound_of(situation.goals, window, estimate_ms)
        return _View(situation, Processors(plan, pipeline, rate, self.reserved), bound)

    def _more(self, view: _View) -> Decision:
        """The bound is broken. Where the estimate knows no remedy but threads do have to wait, what
        was measured counts: one machine more.
        """
        processors = view.processors
        fewest = answered(processors.fewest(view.reachable_ms))
        plan = processors.all_of(processors.machines(fewest))
        if plan.cluster != view.plan.cluster or view.gains(plan):
            return view.change(plan, view.state)
        larger = processors.machines(fewest, view.plan.cluster.slots + 1)
        if view.busiest(view.plan) < WAITING or larger == view.plan.cluster:
            return Decision.keep(f"{view.state}, and more processors are no remedy")
        return view.change(processors.all_of(larger), view.state)

    def _fewer(self, view: _View) -> Decision | None:
        """Fewer machines that keep the bound with something to spare; None: there are none."""
        processors, before = view.processors, view.plan.cluster
        if math.isinf(view.bound.limit_ms):
            return None
        limit_ms = (1 - self.spare) * view.bound.limit_ms
        fewest = processors.fewest(limit_ms / view.bound.ratio)
        if not isinstance(fewest, Allocation):
            return None
        cluster = processors.fewest_machines(fewest, processors.slots(fewest))
        if len(cluster.nodes) >= len(before.nodes):
            return None
        plan = processors.all_of(cluster)
        if view.estimate_ms(plan) > limit_ms:
            return None
        return view.change(plan, f"{view.state}, and fewer machines keep the bound")

    def _rebalanced(self, view: _View) -> Decision:
        try:
            plan = view.processors.all_of(view.plan.cluster)
        except Refused as error:
            return Decision.keep(f"{view.state}; {error}")
        if not (view.gains(plan) and view.pays(plan, self.horizon_s)):
            return Decision.keep(f"{view.state}, and no other division is worth its pause")
        return view.change(plan, f"{view.state}, and another division is better")


@dataclass(frozen=True)
class _View:
    """A situation as DRS sees it."""

    situation: Situation
    processors: Processors
    bound: Bound

    @property
    def plan(self) -> Plan:
        return self.situation.plan

    @property
    def now_ms(self) -> float:
        return self.estimate_ms(self.plan)

    def estimate_ms(self, plan: Plan) -> float:
        """Of the figure that is bounded."""
        estimate_ms = sojourn_ms(self.processors.pipeline, self.processors.rate, plan.threads)
        return self.bound.ratio * estimate_ms

    @property
    def is_broken(self) -> bool:
        return math.isinf(self.now_ms) or self.now_ms > (1 + TOLERANCE) * self.bound.limit_ms

    @property
    def reachable_ms(self) -> float:
        """The mean sojourn time to ask of processors so that the bound is kept."""
        service_ms = sojourn_ms(self.processors.pipeline, self.processors.rate, None)
        if math.isinf(self.bound.limit_ms):
            return UNBOUNDED * service_ms
        return max(self.bound.limit_ms / self.bound.ratio, REACHABLE * service_ms)

    def gains(self, plan: Plan) -> bool:
        """It is shorter by more than measurements vary."""
        return self.estimate_ms(plan) < (1 - LEAST_GAIN) * self.now_ms

    def busiest(self, plan: Plan) -> float:
        rate, pipeline = self.processors.rate, self.processors.pipeline
        return max(utilisations(pipeline, rate, plan.threads).values(), default=0.0)

    def pays(self, plan: Plan, horizon_s: float) -> bool:
        """What an input saves, over all of the horizon, is more than what those wait that come in
        the pause, and until the queues of the pause are worked off.
        """
        saved_s = (self.now_ms - self.estimate_ms(plan)) / 1000 * horizon_s
        pause_s = self.situation.pause_s(plan)
        return saved_s * (1 - self.busiest(plan)) > pause_s**2 / 2

    @property
    def state(self) -> str:
        """Where the pipeline is, for people."""
        rate, pipeline = self.processors.rate, self.processors.pipeline
        if math.isinf(self.now_ms):
            busy = max(utilisations(pipeline, rate, self.plan.threads).items(), key=lambda i: i[1])
            return f"{busy[0]} is asked for {busy[1]:.0%} of what it can handle at {rate:,.1f}/s"
        return self.bound.compared(self.now_ms)

    def change(self, plan: Plan, why: str) -> Decision:
        now_ms, then_ms = self.now_ms, self.estimate_ms(plan)
        gain = Gain(self.bound.figure, now_ms if math.isfinite(now_ms) else None, then_ms)
        return changed(self.situation, plan, why, gain, f"expected {milliseconds(then_ms)}")


def sojourn_ms(pipeline: Pipeline, rate: float, threads: Mapping[str, int] | None) -> float:
    """Paper 5's E[T]: one queue per operator. Without threads, the service times alone; infinite
    where some threads cannot keep up. O(threads).
    """
    total = 0.0
    topology, profiles = pipeline.topology, pipeline.profiles
    counts = None if threads is None else [threads[o.name] for o in topology.operators]
    rates = arrival_rates(topology, rate, counts)
    for operator, arriving in zip(topology.operators, rates.operators.tolist(), strict=True):
        if profiles.fixed(operator.name):
            continue
        service = profiles.service(operator.name)
        wait_s, service_s = 0.0, 1 / service.rate
        if threads is not None:
            variation = (service.arrival_scv + service.service_scv) / 2
            servers = threads[operator.name]
            wait_s, service_s = queueing.sojourn(servers, arriving, service.rate, variation)
        total += arriving * (wait_s + service_s)
    return 1000 * total / rates.external


def utilisations(pipeline: Pipeline, rate: float, threads: Mapping[str, int]) -> dict[str, float]:
    """Per operator that is no fixed load, work per second and thread, in seconds."""
    topology, profiles = pipeline.topology, pipeline.profiles
    rates = arrival_rates(topology, rate, [threads[o.name] for o in topology.operators])
    return {
        operator.name: arriving / (threads[operator.name] * profiles.service(operator.name).rate)
        for operator, arriving in zip(topology.operators, rates.operators.tolist(), strict=True)
        if profiles.fixed(operator.name) is None
    }
