"""The Flink autoscaler's rule: threads by the true processing rate and a target utilisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from slotwise.controllers._measured import offered, pending, service_ms, visits
from slotwise.controllers._options import check_parts, check_positive
from slotwise.controllers._plans import changed, with_threads
from slotwise.controllers.base import Situation
from slotwise.model import Decision, Gain, Observation, Plan
from slotwise.model.deployment import RESTART_PAUSE_S


@dataclass(frozen=True)
class Flink:
    """As the autoscaler of Flink's Kubernetes operator documents it; the defaults are its own.

    - True processing rate: what the threads would handle if they were busy all the time, threads ÷
      mean time per tuple over `window_s`.
    - Needed: tuples that wait ÷ `catch_up_s` + rate × pause ÷ `catch_up_s` + rate ÷ utilisation.
    - While the true rate is enough for the utilisation `target` + `boundary` and not more than is
      needed for `target` - `boundary`, an operator is within bounds. If all are, the plan stays.
    - Else every operator gets threads × needed ÷ true rate, rounded up, at least 40 % of them.
    - Fewer threads only if that was so for `scale_down_s`; then the most that were needed.

    Operators without a measured time keep their threads. O(operators × periods).
    """

    name: ClassVar[str] = "flink"
    target: float = 0.7
    boundary: float = 0.3
    catch_up_s: float = 1800.0
    window_s: float = 900.0
    scale_down_s: float = 3600.0
    most_scale_down: float = 0.6

    def __post_init__(self) -> None:
        check_parts(
            target=self.target, boundary=self.boundary, most_scale_down=self.most_scale_down
        )
        check_positive(
            target=self.target,
            catch_up_s=self.catch_up_s,
            window_s=self.window_s,
            scale_down_s=self.scale_down_s,
        )

    def decide(self, situation: Situation) -> Decision:
        if not situation.covers(self.window_s):
            return Decision.keep(f"fewer than {self.window_s:g} s were observed under this plan")
        plan, window = situation.plan, situation.last(self.window_s)
        pause_s = _restart_s(situation)
        wanted = self.wanted(plan, window, pause_s)
        fewer = {name for name, count in wanted.items() if count < plan.threads[name]}
        wanted |= self._delayed(situation, fewer, pause_s)
        outside = [
            name
            for name in wanted
            if wanted[name] != plan.threads[name] and self._is_outside(plan, window, name, pause_s)
        ]
        if not outside:
            return Decision.keep("every operator is within its boundaries, or waits to scale down")
        rate = max(offered(window), 1e-9)
        new = with_threads(plan, rate, plan.threads | wanted, self.name)
        worst = outside[0]
        true_rate = _true_rate(plan, window, worst) or 0.0
        gain = Gain("capacity", true_rate, true_rate * wanted[worst] / plan.threads[worst])
        asked = rate * visits(plan)[worst]
        why = f"{worst} can handle {true_rate:,.0f}/s and gets {asked:,.0f}/s"
        return changed(situation, new, why, gain)

    def wanted(self, plan: Plan, window: Sequence[Observation], pause_s: float) -> dict[str, int]:
        """Threads per operator whose time was measured."""
        found = {}
        for name, threads in plan.threads.items():
            true_rate = _true_rate(plan, window, name)
            if true_rate is None or plan.pipeline.profiles.fixed(name):
                continue
            needed = self.needed(plan, window, name, self.target, pause_s)
            factor = max(needed / true_rate, 1 - self.most_scale_down)
            found[name] = max(1, math.ceil(threads * factor - 1e-9))
        return found

    def needed(
        self,
        plan: Plan,
        window: Sequence[Observation],
        operator: str,
        utilisation: float,
        pause_s: float,
    ) -> float:
        """Tuples/s that the operator must be able to handle."""
        rate = offered(window) * visits(plan)[operator]
        waiting = pending(operator, plan, window[-1])
        return (waiting + rate * pause_s) / self.catch_up_s + rate / min(utilisation, 1.0)

    def _is_outside(
        self, plan: Plan, window: Sequence[Observation], operator: str, pause_s: float
    ) -> bool:
        true_rate = _true_rate(plan, window, operator)
        assert true_rate is not None
        low = self.needed(plan, window, operator, self.target + self.boundary, 0.0)
        if true_rate < low:
            return True
        least = self.target - self.boundary
        return least > 0 and true_rate > self.needed(plan, window, operator, least, pause_s)

    def _delayed(self, situation: Situation, operators: set[str], pause_s: float) -> dict[str, int]:
        """Where fewer threads would do: the most that were needed within `scale_down_s`, or those
        there are if less was observed.
        """
        plan = situation.plan
        if not situation.covers(self.scale_down_s):
            return {name: plan.threads[name] for name in operators}
        each = [self.wanted(plan, [seen], pause_s) for seen in situation.last(self.scale_down_s)]
        return {
            name: min(plan.threads[name], max(at.get(name, plan.threads[name]) for at in each))
            for name in operators
        }


def _true_rate(plan: Plan, window: Sequence[Observation], operator: str) -> float | None:
    """Tuples/s of all its threads, always busy."""
    each_ms = service_ms(operator, window)
    return None if each_ms is None else plan.threads[operator] * 1000 / each_ms


def _restart_s(situation: Situation) -> float:
    """How long the last restart took, or as usual."""
    restarts = [change.pause_s for change in situation.changes if change.how == "restart"]
    return restarts[-1] if restarts else RESTART_PAUSE_S
