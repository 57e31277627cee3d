"""One thread more for operators that are busy, one fewer for those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from slotwise.controllers._measured import loads, offered
from slotwise.controllers._options import check_parts, check_positive
from slotwise.controllers._plans import changed, with_threads
from slotwise.controllers.base import Situation
from slotwise.model import Decision, Observation, Plan, ThreadTable


@dataclass(frozen=True)
class Threshold:
    """An operator that was busier than `above` in every period of the last `seconds` gets one
    thread more; one that was less busy than `below` gets one fewer, unless the others would then be
    busier than `above`. Where a profile has many threads in a slot, a slot's worth takes the place
    of one thread. With a backlog of more than `lag_s` seconds of input, the busiest operator gets
    one more, and none gets fewer. O(threads) beside placing.
    """

    name: ClassVar[str] = "threshold"
    above: float = 0.8
    below: float = 0.4
    seconds: float = 30.0
    lag_s: float = 5.0

    def __post_init__(self) -> None:
        check_parts(above=self.above, below=self.below)
        check_positive(seconds=self.seconds, lag_s=self.lag_s)
        if self.below >= self.above:
            raise ValueError(f"below: invalid value '{self.below}': expected less than above")

    def decide(self, situation: Situation) -> Decision:
        plan, last = situation.plan, situation.last(self.seconds)
        if not situation.covers(self.seconds):
            return Decision.keep(f"fewer than {self.seconds:g} s were observed under this plan")
        steps, why = self._steps(plan, last)
        if not steps:
            return Decision.keep(
                f"every operator is {self.below:.0%} to {self.above:.0%} busy, or cannot be changed"
            )
        threads = {name: count + steps.get(name, 0) for name, count in plan.threads.items()}
        rate = max(offered(last), 1e-9)
        return changed(situation, with_threads(plan, rate, threads, self.name), why)

    def _steps(self, plan: Plan, last: Sequence[Observation]) -> tuple[dict[str, int], str]:
        """Threads to add to operators, and why."""
        busy = {
            name: [loads(seen)[name].utilisation for seen in last]
            for name in plan.threads
            if plan.pipeline.profiles.fixed(name) is None
        }
        lag_s = _lag_s(last[-1])
        more = {name: _unit(plan, name) for name, each in busy.items() if min(each) > self.above}
        if lag_s > self.lag_s and busy and not more:
            busiest = max(busy, key=lambda name: busy[name][-1])
            more = {busiest: _unit(plan, busiest)}
        if more:
            lagging = f" and the input lags {lag_s:.0f} s" if lag_s > self.lag_s else ""
            said = ", ".join(f"{name} was {busy[name][-1]:.0%} busy" for name in more)
            return more, f"{said} for {self.seconds:g} s{lagging}"
        if lag_s > self.lag_s:
            return {}, ""
        fewer = {
            name: -_unit(plan, name)
            for name, each in busy.items()
            if max(each) < self.below and self._can_spare(plan, name, max(each))
        }
        said = ", ".join(f"{name} was {busy[name][-1]:.0%} busy" for name in fewer)
        return fewer, f"{said} for {self.seconds:g} s"

    def _can_spare(self, plan: Plan, operator: str, busy: float) -> bool:
        threads = plan.threads[operator]
        left = threads - _unit(plan, operator)
        return left >= 1 and busy * threads / left < self.above


def _unit(plan: Plan, operator: str) -> int:
    """One thread, or as many as fill a slot by a measured table."""
    profiles = plan.pipeline.profiles
    if profiles.derived(operator, ThreadTable):
        return 1
    return profiles.table(operator).best.threads


def _lag_s(seen: Observation) -> float:
    """How many seconds of input wait."""
    if not seen.backlog or seen.offered_rate <= 0:
        return 0.0
    return seen.backlog / seen.offered_rate
