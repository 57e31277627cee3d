"""A plan on Spark at one rate after the other: its highest stable rate, and what it does below.

All rates in one query, whose source follows the stairs, as in paper 1's Algorithm 1. A step is
judged by its Observation. Two unstable steps in a row end the climb: one may be a pause of Java's
garbage collector. One ends it if much less came out than was offered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from slotwise.model import Observation, Plan, Schedule
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Run
from slotwise.spark.stage import Stage
from slotwise.spark.supervise import supervise
from slotwise.spark.waiting import await_tuples

STARTING, SETTLING = 0.15, 0.5
"""Before the first step, these parts of the predicted capacity: what comes while threads start is
late, and must be worked off."""
COMPILED_S, COMPILED_S_PER_THREAD, SETTLED_S = 7.0, 0.06, 5.0
"""So long at the first of them, without CPU quotas, while threads start and Java compiles the query
in every executor; then so long with quotas at the other."""
LEAST_PART = 0.1
"""A plan that is predicted to sustain nothing is tried at parts of this part of its own rate."""
WARM_UP_S, MEASURED_S = 1.5, 4.0
"""Of each step."""
PARTS = (0.5, 0.7, 0.9, 1.2, 1.7, 2.4, 3.4, 4.8, 6.7, 9.4)
"""Steps, as parts of the predicted capacity, as far as the plan goes. They need not be fine: what
comes out of an overloaded plan is its highest rate.
"""
CLEARLY = 0.9
"""A step is clearly too much if it is not stable and less than this part of it comes out."""


@dataclass(frozen=True)
class Step:
    """What a plan did at one input rate."""

    rate: float
    """Inputs/s that were offered."""
    throughput: float | None
    stable: bool | None
    busiest: float | None
    bottleneck: str | None
    latency_ms: float | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    latency_slope: float | None
    inter_node_traffic: float | None
    slot_cpu: tuple[float | None, ...]
    """Per slot of the cluster, the part of its quota in use."""

    @property
    def comes_out(self) -> bool:
        """Nearly all that was offered."""
        return (self.throughput or 0.0) >= CLEARLY * self.rate

    @property
    def is_held(self) -> bool:
        """In a steady state: of a backlog that is worked off less comes out than is offered now, or
        it came late.
        """
        return self.stable is True and self.comes_out

    @property
    def is_too_much(self) -> bool:
        return self.stable is False and not self.comes_out


@dataclass(frozen=True)
class Climb:
    """The steps of a plan, by rising rate, and what its slots keep in memory."""

    steps: tuple[Step, ...]
    slot_memory_mb: tuple[float, ...]
    """Per slot, live heap at the end."""

    @property
    def peak(self) -> float:
        """The highest rate that was stable, or what came out at the next step, which was offered
        more than it can do: that is finer than the steps.
        """
        below = self._before_the_end
        held = [step.rate for step in below if step.is_held]
        next_steps = self.steps[len(below) : len(below) + 1]
        came_out = [step.throughput or 0.0 for step in next_steps if step.stable is not None]
        return max([*held, *came_out], default=0.0)

    def nearest_to(self, parts: Sequence[float]) -> Sequence[Step]:
        """The stable steps nearest to these parts of the peak, each once, by rising rate."""
        below = [step for step in self._before_the_end if step.is_held] or [self.steps[0]]
        near = [min(below, key=lambda step: abs(step.rate - part * self.peak)) for part in parts]
        return [step for step in below if step in near]

    @property
    def is_over(self) -> bool:
        """Whether a step was too much; else the plan can do more than the highest one."""
        return len(self._before_the_end) < len(self.steps)

    @property
    def _before_the_end(self) -> Sequence[Step]:
        """Steps before one that is clearly too much, or before two in a row that are unstable."""
        for number, one in enumerate(self.steps):
            held_later = any(later.is_held for later in self.steps[number + 1 :])
            is_clear = one.is_too_much and not held_later
            if is_over(self.steps[number : number + 2]) or is_clear:
                return self.steps[:number]
        return self.steps

    def row(self) -> dict[str, Any]:
        """For a journal."""
        return asdict(self)

    @staticmethod
    def of(row: Mapping[str, Any]) -> Climb:
        steps = [Step(**{**step, "slot_cpu": tuple(step["slot_cpu"])}) for step in row["steps"]]
        return Climb(tuple(steps), tuple(row["slot_memory_mb"]))


def climb(
    stage: Stage,
    plan: Plan,
    parts: Sequence[float] = PARTS,
    measured_s: float = MEASURED_S,
    **settings: Any,
) -> Climb:
    """The plan at these parts of its predicted capacity, until it is unstable. A part that is there
    twice is tried twice.

    `settings` are those of spark.run.Options.
    """
    assert plan.predicted is not None
    step_s = WARM_UP_S + measured_s
    stairs = Schedule.stairs(parts, step_s)
    compiled_s = COMPILED_S + COMPILED_S_PER_THREAD * plan.allocation.total_threads
    settled_s = compiled_s + SETTLED_S
    begins = (
        *((0.0, STARTING), (compiled_s, STARTING)),
        *((compiled_s, SETTLING), (settled_s, SETTLING)),
    )
    later = Schedule((*begins, *((at + settled_s, part) for at, part in stairs.points)))
    whole = max(plan.predicted.capacity, LEAST_PART * plan.rate)
    options = stage.options(rate=whole, schedule=later, **settings)
    steps: list[Step] = []
    with stage.query(outline(plan), options) as run:
        with stage.without_quota():
            await_tuples(run)
            _advance_to(run, compiled_s)
        for number, part in enumerate(parts):
            seen = _observed(run, settled_s + number * step_s + WARM_UP_S, measured_s)
            steps.append(step_of(part * whole, seen))
            is_last_try = part not in parts[number + 1 :]
            is_clear = number > 0 and steps[-1].is_too_much and is_last_try
            if is_over(steps[-2:]) or is_clear:
                break
        memory = stage.live_memory_mb()
    return Climb(tuple(steps), tuple(memory.get(slot, 0.0) for slot in range(plan.cluster.slots)))


def _observed(run: Run, from_s: float, seconds: float) -> Observation:
    """From a moment of the run's clock on, which is nearly that of its source."""
    _advance_to(run, from_s)
    run.watch.forget()
    supervise(run, seconds, tries=0)
    return run.observe(seconds + 2)


def _advance_to(run: Run, moment_s: float) -> None:
    if moment_s > run.now_s():
        supervise(run, moment_s - run.now_s(), tries=0)


def step_of(rate: float, seen: Observation) -> Step:
    return Step(
        rate=rate,
        throughput=seen.throughput,
        stable=seen.stable,
        busiest=seen.busiest,
        bottleneck=seen.bottleneck,
        latency_ms=seen.latency_ms,
        latency_p50_ms=seen.latency_p50_ms,
        latency_p99_ms=seen.latency_p99_ms,
        latency_slope=seen.latency_slope,
        inter_node_traffic=seen.inter_node_traffic,
        slot_cpu=tuple(slot.cpu for slot in seen.slots),
    )


def is_over(last: Sequence[Step]) -> bool:
    """Two steps in a row that were not held."""
    return len(last) == 2 and not any(step.is_held for step in last)
