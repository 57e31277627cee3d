"""How plans of a search compare with their goals and with each other."""

from __future__ import annotations

import math

from slotwise.model import Plan, Verdict, counted, missed


def is_promising(plan: Plan, latencies: float) -> bool:
    """By the prediction: latencies are estimates, all other goals must be met."""
    return all(
        verdict.outcome != "missed" or (_is_latency(verdict) and verdict.excess < latencies - 1)
        for verdict in plan.judged()
    )


def is_met(verdict: Verdict, part: float = 1.0) -> bool:
    """Latencies within that part of their goals: there is no tolerance for a promise."""
    if _is_latency(verdict) and verdict.seen is not None:
        return verdict.outcome == "met" and verdict.seen <= part * verdict.wanted
    return verdict.outcome == "met"


def _is_latency(verdict: Verdict) -> bool:
    return verdict.goal.endswith("_ms")


def in_short(plan: Plan) -> tuple[object, ...]:
    """Equal for plans that differ in the names of slots only: one of them is simulated."""
    predicted = plan.predicted
    assert predicted is not None
    figures = (
        plan.cost_per_hour,
        predicted.latency_ms,
        predicted.latency_p99_ms,
        predicted.busiest,
        predicted.inter_slot_traffic,
    )
    # Sums over slots in another order differ in the last digits.
    return plan.placement.threads, *(f"{figure:.9g}" for figure in figures if figure is not None)


def latency_ms(plan: Plan) -> float:
    assert plan.predicted is not None
    found = plan.predicted.latency_ms
    return math.inf if found is None else found


def distance(plan: Plan) -> tuple[float, ...]:
    """How far a plan is from its goals, then the order of preference: cost, latency, slots."""
    verdicts = plan.judged()
    worst = max((verdict.excess for verdict in verdicts), default=0.0)
    return (
        len(missed(verdicts)),
        max(worst, 0.0),
        plan.cost_per_hour,
        latency_ms(plan),
        plan.slots,
    )


def pair(plan: Plan) -> tuple[str, str]:
    return plan.allocation.algorithm, plan.placement.algorithm


def described(plan: Plan) -> str:
    predicted = plan.predicted
    assert predicted is not None
    problems = "".join(f"; {verdict.reason}" for verdict in missed(plan.judged()))
    return (
        f"runner-up {plan.allocation.algorithm} + {plan.placement.algorithm}: "
        f"{counted(plan.slots, 'slot')}, {plan.cost_per_hour:.2f} per hour, "
        f"{predicted.capacity:,.1f}/s, latency {predicted.latency_text}{problems}"
    )
