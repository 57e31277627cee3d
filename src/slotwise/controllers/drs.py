"""Paper 5's DRS: processors divided best, and machines added and given back for a latency bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from slotwise.controllers._bounds import Bound, bound_of, milliseconds
from slotwise.controllers._measured import offered
from slotwise.controllers._options import check_parts, check_positive
from slotwise.controllers._plans import changed
from slotwise.controllers._processors import Processors
from slotwise.controllers.base import Situation
from slotwise.fitting import answered
from slotwise.learning import learned
from slotwise.model import Allocation, Cluster, Decision, Gain, Pipeline, Plan, Prediction, Refused
from slotwise.model.goals import TOLERANCE
from slotwise.prediction import predict
from slotwise.rates import arrival_rates

REACHABLE = 1.05
"""Times the service times alone: the shortest sojourn time that is asked of processors."""
UNBOUNDED = 2.0
"""Likewise where there is no bound and processors cannot keep up."""
LEAST_GAIN = 0.02
"""Of the sojourn time; less is within what measurements vary."""
MOST_STEPS = 8
"""Larger clusters that are looked at in one decision."""


@dataclass(frozen=True)
class Drs:
    """Measures λ and μ of every operator and the input rate over `seconds`, each period weighing
    `smoothing` times the next one, and estimates latencies from them; see `Bound`.

    - Over the bound: the fewest processors that keep it (Program 6), on as many machines as hold
      them, and as many more as it takes. Machines are used whole, and their processors divided best
      (Program 4).
    - Under the bound by the part `spare` with fewer machines, `give_back_s` after the last change:
      machines are given back.
    - Else, another division of the same processors, if within `horizon_s` it saves more waiting
      than its pause causes.

    Nothing is changed within `cool_down_s` of the last change. The bound is the goal `sojourn_ms`,
    else `latency_ms`, else the percentile that is missed by most; `reserved` slots are kept from
    processors. Without any of these goals, machines are added only where processors cannot keep up,
    and none is given back. O(log K × K log N) for K processors and N operators, beside placing.
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
        predicted = predict(replace(plan, pipeline=pipeline), rate)
        bound = bound_of(situation.goals, window, predicted)
        processors = Processors(plan, pipeline, rate, self.reserved)
        return _View(situation, processors, bound, bound.estimate_ms(predicted))

    def _more(self, view: _View) -> Decision:
        """The bound is broken: machines until it is kept, or until more do not help."""
        processors, found, best_ms = view.processors, None, view.now_ms
        fewest = answered(processors.fewest(view.reachable_ms))
        for cluster in processors.growing(fewest, MOST_STEPS):
            option = view.option_if_any(cluster)
            if option is not None and _gains(best_ms, option.estimate_ms):
                found, best_ms = option, option.estimate_ms
            elif found is not None:
                break
            if best_ms <= view.bound.limit_ms:
                break
        if found is None:
            return Decision.keep(f"{view.state}, and more processors are no remedy")
        return view.change(found, view.state)

    def _fewer(self, view: _View) -> Decision | None:
        """Fewer machines that keep the bound with something to spare; None: there are none."""
        limit_ms = (1 - self.spare) * view.bound.limit_ms
        if math.isinf(limit_ms):
            return None
        fewest = view.processors.fewest((1 - self.spare) * view.bound.mean_ms)
        if not isinstance(fewest, Allocation):
            return None
        slots = view.processors.slots(fewest)
        for _ in range(MOST_STEPS):
            cluster = view.processors.fewest_machines(fewest, slots)
            if len(cluster.nodes) >= view.plan.machines:
                return None
            option = view.option_if_any(cluster)
            if option is not None and option.estimate_ms <= limit_ms:
                return view.change(option, f"{view.state}, and fewer machines keep the bound")
            slots = cluster.slots + 1
        return None

    def _rebalanced(self, view: _View) -> Decision:
        option = view.option_if_any(view.plan.cluster)
        if (
            option is not None
            and _gains(view.now_ms, option.estimate_ms)
            and view.pays(option, self.horizon_s)
        ):
            return view.change(option, f"{view.state}, and another division is better")
        return Decision.keep(f"{view.state}, and no other division is worth its pause")


def _gains(before_ms: float, after_ms: float) -> bool:
    """It is shorter by more than measurements vary."""
    return after_ms < (1 - LEAST_GAIN) * before_ms


@dataclass(frozen=True)
class _Option:
    """A plan, and what it is expected to do."""

    plan: Plan
    """As measured; see Processors.given."""
    predicted: Prediction
    estimate_ms: float
    """Of the figure that is bounded."""


@dataclass(frozen=True)
class _View:
    """A situation as DRS sees it."""

    situation: Situation
    processors: Processors
    bound: Bound
    now_ms: float
    """What the figure that is bounded is about."""

    @property
    def plan(self) -> Plan:
        return self.situation.plan

    @property
    def is_broken(self) -> bool:
        return math.isinf(self.now_ms) or self.now_ms > (1 + TOLERANCE) * self.bound.limit_ms

    def option_if_any(self, cluster: Cluster) -> _Option | None:
        """All processors of these machines, divided best; None: these are too few, or cannot be
        placed.
        """
        try:
            plan = self.processors.all_of(cluster)
        except Refused:
            return None
        assert plan.predicted is not None
        return _Option(plan, plan.predicted, self.bound.estimate_ms(plan.predicted))

    @property
    def reachable_ms(self) -> float:
        """The mean sojourn time to ask of processors so that the bound is kept."""
        service_ms = service_times_ms(self.processors.pipeline, self.processors.rate)
        if math.isinf(self.bound.limit_ms):
            return UNBOUNDED * service_ms
        return max(self.bound.mean_ms, REACHABLE * service_ms)

    def pays(self, option: _Option, horizon_s: float) -> bool:
        """What an input saves, over all of the horizon, is more than what those wait that come in
        the pause, and until the queues of the pause are worked off.
        """
        saved_s = (self.now_ms - option.estimate_ms) / 1000 * horizon_s
        busiest = max(load.utilisation for load in option.predicted.operators)
        return saved_s * (1 - busiest) > self.situation.pause_s(option.plan) ** 2 / 2

    @property
    def state(self) -> str:
        """Where the pipeline is, for people."""
        if math.isfinite(self.now_ms):
            return self.bound.compared(self.now_ms)
        rate, pipeline = self.processors.rate, self.processors.pipeline
        busy = utilisations(pipeline, rate, self.plan.threads)
        worst = max(busy, key=lambda name: busy[name])
        return f"{worst} is asked for {busy[worst]:.0%} of what it can handle at {rate:,.1f}/s"

    def change(self, option: _Option, why: str) -> Decision:
        expected = f"expected {milliseconds(option.estimate_ms)}"
        before, after = (
            ms if math.isfinite(ms) else None for ms in (self.now_ms, option.estimate_ms)
        )
        gain = Gain(self.bound.figure, before, after)
        return changed(self.situation, self.processors.given(option.plan), why, gain, expected)


def service_times_ms(pipeline: Pipeline, rate: float) -> float:
    """E[T] without any wait."""
    topology, profiles = pipeline.topology, pipeline.profiles
    rates = arrival_rates(topology, rate)
    busy = sum(
        arriving / profiles.service(operator.name).rate
        for operator, arriving in zip(topology.operators, rates.operators.tolist(), strict=True)
        if profiles.fixed(operator.name) is None
    )
    return 1000 * float(busy) / rates.external


def utilisations(pipeline: Pipeline, rate: float, threads: Mapping[str, int]) -> dict[str, float]:
    """Per operator that is no fixed load, work per second and thread, in seconds."""
    topology, profiles = pipeline.topology, pipeline.profiles
    rates = arrival_rates(topology, rate, [threads[o.name] for o in topology.operators])
    return {
        operator.name: arriving / (threads[operator.name] * profiles.service(operator.name).rate)
        for operator, arriving in zip(topology.operators, rates.operators.tolist(), strict=True)
        if profiles.fixed(operator.name) is None
    }
