"""Many plans side by side: all allocator and placer pairs at each rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slotwise import registry
from slotwise.model import Choice, Pipeline, Plan, Refusal, Refused, Scheduler, missed
from slotwise.planner import Request, asking_for, plan_as_chosen


@dataclass(frozen=True)
class Candidate:
    """One pair at one rate: its plan, or why there is none."""

    rate: float
    allocator: str
    placer: str
    plan: Plan | None
    refusal: Refusal | None

    def row(self) -> dict[str, float | int | str | None]:
        """The figures of the comparison table; None where there is no plan."""
        plan = self.plan
        predicted = plan.predicted if plan else None
        simulated = plan.simulated if plan else None
        return {
            "rate": self.rate,
            "allocator": self.allocator,
            "placer": self.placer,
            "slots": plan.slots if plan else None,
            "extra_slots": plan.extra_slots if plan else None,
            "machines": plan.machines if plan else None,
            "cost_per_hour": plan.cost_per_hour if plan else None,
            "capacity": predicted.capacity if predicted else None,
            "weighted_capacity": predicted.proportional_capacity if predicted else None,
            "latency_ms": predicted.latency_ms if predicted else None,
            "latency_p99_ms": simulated.latency_p99_ms if simulated else None,
            "sojourn_ms": predicted.sojourn_ms if predicted else None,
            "inter_node_traffic": predicted.inter_node_traffic if predicted else None,
            "missed_goals": "; ".join(goal.reason for goal in missed(plan.judged())) or None
            if plan
            else None,
            "refused": self.refusal.reason if self.refusal else None,
        }


def candidates(
    pipeline: Pipeline,
    rates: Sequence[float] = (),
    allocators: Sequence[Choice | str] = (),
    placers: Sequence[Choice | str] = (),
    provisioner: Choice | str | None = None,
) -> Iterator[Candidate]:
    """Every rate × allocator × placer, in that order; one at a time, so progress can be shown.

    What is left out means: the pipeline's goal, every allocator, every placer.
    """
    scheduler = replace(
        pipeline.scheduler,
        provisioner=registry.choice(provisioner or pipeline.scheduler.provisioner),
    )
    schedulers = [
        replace(scheduler, allocator=registry.choice(allocate), placer=registry.choice(place))
        for allocate in allocators or registry.names("allocator")
        for place in placers or registry.names("placer")
    ]
    for each in schedulers:
        registry.check_names(each)
    for given in rates or (None,):
        asked, rate = asking_for(pipeline, given)
        for each in schedulers:
            yield _candidate(asked, rate, each)


def _candidate(pipeline: Pipeline, rate: float, scheduler: Scheduler) -> Candidate:
    pair = str(scheduler.allocator), str(scheduler.placer)
    try:
        return Candidate(rate, *pair, plan_as_chosen(Request(pipeline, rate, scheduler)), None)
    except Refused as error:
        return Candidate(rate, *pair, None, error.refusal)
