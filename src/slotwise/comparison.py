"""Many plans side by side: all allocator and placer pairs, and the best of all placers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slotwise import registry
from slotwise.model import Choice, Pipeline, Plan, Refusal, Refused, Scheduler
from slotwise.planner import plan_with, required_rate

_AUTO_OPTIONS = {"exact": {"effort": 0.2}}
"""`auto` tries many placers: the one that could go on searching gets less time than by itself."""


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
        return {
            "rate": self.rate,
            "allocator": self.allocator,
            "placer": self.placer,
            "slots": plan.slots if plan else None,
            "extra_slots": plan.extra_slots if plan else None,
            "machines": plan.machines if plan else None,
            "cost_per_hour": plan.cost_per_hour if plan else None,
            "predicted_rate": predicted.rate if predicted else None,
            "weighted_rate": predicted.proportional_rate if predicted else None,
            "latency_ms": predicted.latency_ms if predicted else None,
            "inter_node_traffic": predicted.inter_node_traffic if predicted else None,
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
        for allocate in allocators or tuple(registry.ALLOCATORS)
        for place in placers or tuple(registry.PLACERS)
    ]
    for each in schedulers:
        registry.check_names(each)
    for rate in rates or (required_rate(pipeline, None),):
        for each in schedulers:
            yield _candidate(pipeline, rate, each)


def plan_as_chosen(pipeline: Pipeline, rate: float, scheduler: Scheduler) -> Plan:
    """The plan of the scheduler's algorithms, `auto` included."""
    registry.check_names(scheduler)
    if scheduler.placer.name == registry.AUTO:
        return plan_auto(pipeline, rate, scheduler)
    return plan_with(pipeline, rate, scheduler)


def plan_auto(pipeline: Pipeline, rate: float, scheduler: Scheduler) -> Plan:
    """Try every placer; keep the cheapest plan that meets the goals, then the lowest latency.

    A plan that cannot carry the planned rate under any routing comes behind those that can. Equal
    ones are told apart by slots, predicted rate, traffic between nodes, and the registry's order.
    Where no plan meets all goals, the one that misses fewest is kept. The whole table goes
    into the plan's reasons. Raises the first refusal if every placer refuses.
    """
    tried = tuple(
        _candidate(
            pipeline, rate, replace(scheduler, placer=Choice(name, _AUTO_OPTIONS.get(name, {})))
        )
        for name in registry.PLACERS
    )
    plans = [candidate.plan for candidate in tried if candidate.plan is not None]
    if not plans:
        raise Refused(next(candidate.refusal for candidate in tried if candidate.refusal))
    best = min(plans, key=_worth)
    report = (f"auto: {best.placement.algorithm} is the best of {len(tried)} placers",)
    return replace(best, reasons=best.reasons + report + tuple(map(_told, tried)))


def _candidate(pipeline: Pipeline, rate: float, scheduler: Scheduler) -> Candidate:
    pair = str(scheduler.allocator), str(scheduler.placer)
    try:
        return Candidate(rate, *pair, plan_as_chosen(pipeline, rate, scheduler), None)
    except Refused as error:
        return Candidate(rate, *pair, None, error.refusal)


def _worth(plan: Plan) -> tuple[float, ...]:
    predicted = plan.predicted
    assert predicted is not None
    return (
        len(plan.missed_goals()),
        predicted.proportional_rate < plan.rate * (1 - 1e-9),
        plan.cost_per_hour,
        plan.slots,
        predicted.latency_ms,
        -predicted.rate,
        predicted.inter_node_traffic,
    )


def _told(candidate: Candidate) -> str:
    plan = candidate.plan
    if candidate.refusal is not None:
        return f"auto tried {candidate.placer}: refused, {candidate.refusal.reason}"
    assert plan is not None
    assert plan.predicted is not None
    return (
        f"auto tried {candidate.placer}: {plan.slots} slots, {plan.cost_per_hour:.2f} per hour, "
        f"{plan.predicted.rate:,.1f}/s, latency {plan.predicted.latency_told}, "
        f"{plan.predicted.inter_node_traffic:,.1f}/s between nodes"
    )
