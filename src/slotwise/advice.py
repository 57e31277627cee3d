"""What would help a plan that misses its goals: machines, a faster operator, a lower goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from slotwise.model import Observation, OperatorLoad, Plan, Verdict, missed

MARGIN = 1.05
"""A latency that is asked for should be so much above what was seen, to hold by other chances."""


def advice(plan: Plan, enough_machines: Callable[[], int | None]) -> tuple[str, ...]:
    """One sentence for each thing that would help.

    `enough_machines` finds how many machines meet the goals on a cluster that could grow; None:
    no number does, or the machines are not what is short.
    """
    failures = missed(plan.judged())
    return (*_machines(plan, enough_machines), *_speed(plan, failures), *_relaxed(plan, failures))


def _machines(plan: Plan, enough_machines: Callable[[], int | None]) -> Iterator[str]:
    if plan.pipeline.cluster is None:
        return
    count = enough_machines()
    if count is not None:
        last = plan.pipeline.cluster.nodes[-1].name
        instead = f"instead of {plan.machines:,}, the new ones like '{last}'"
        yield f"would help: {count:,} machines {instead}"


def _speed(plan: Plan, failures: tuple[Verdict, ...]) -> Iterator[str]:
    predicted = plan.predicted
    assert predicted is not None
    if _lacks_capacity(failures):
        busiest = _busiest(plan)
        if 1 < busiest.times < math.inf:
            faster = f"{busiest.times:.2f} times as fast"
            yield f"would help: '{busiest.operator}', the bottleneck, {faster}"
    if any(verdict.goal.endswith("_ms") for verdict in failures):
        slowest = max(predicted.operators, key=_time_ms)
        if 0 < _time_ms(slowest) < math.inf:
            yield (
                f"would help: a faster '{slowest.operator}', where a tuple spends "
                f"{_time_ms(slowest):,.1f} ms, more than in any other operator"
            )


@dataclass(frozen=True)
class _Busiest:
    operator: str | None
    times: float
    """How many times it would have to be faster to have the headroom."""


def _busiest(plan: Plan) -> _Busiest:
    """As predicted or simulated, whichever is worse: keys of unequal frequency show in runs."""
    most = 1 - (plan.pipeline.goals.headroom or 0.0)
    seen = (_Busiest(s.bottleneck, (s.busiest or 0.0) / most) for s in _observations(plan))
    return max(seen, key=lambda each: each.times)


def _observations(plan: Plan) -> Iterator[Observation]:
    if plan.predicted is not None:
        yield plan.predicted
    if plan.simulated is not None:
        yield plan.simulated


def _lacks_capacity(failures: tuple[Verdict, ...]) -> bool:
    return any(verdict.goal in ("rate", "headroom") for verdict in failures)


def _time_ms(load: OperatorLoad) -> float:
    return (load.waiting_ms or 0.0) + (load.service_ms or 0.0)


def _relaxed(plan: Plan, failures: tuple[Verdict, ...]) -> Iterator[str]:
    """The goals that this plan does meet."""
    if _lacks_capacity(failures) and math.isfinite(times := _busiest(plan).times):
        yield f"would help: a rate of {plan.rate / times:,.1f}/s or less"
    for verdict in failures:
        if verdict.seen is None or not math.isfinite(verdict.seen):
            continue
        if verdict.goal.endswith("_ms") and not _lacks_capacity(failures):
            yield f"would help: {verdict.goal} of {verdict.seen * MARGIN:,.1f} or more"
        elif verdict.goal in ("machines", "cost_per_hour"):
            yield f"would help: {verdict.goal} of {verdict.seen:,g} or more"
