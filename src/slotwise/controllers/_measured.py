"""What observations say of operators: how long tuples take, how much they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotwise.model import Observation, OperatorLoad, Plan
from slotwise.rates import arrival_rates


def loads(seen: Observation) -> Mapping[str, OperatorLoad]:
    return {load.operator: load for load in seen.operators}


def offered(observations: Sequence[Observation], smoothing: float = 1.0) -> float:
    """The mean input rate; each period counts `smoothing` times what the next one counts."""
    weights = [smoothing**age for age in range(len(observations) - 1, -1, -1)]
    total = sum(w * seen.offered_rate for w, seen in zip(weights, observations, strict=True))
    return float(total / sum(weights))


def visits(plan: Plan) -> dict[str, float]:
    """Per operator, its tuples per input tuple."""
    topology = plan.pipeline.topology
    rates = arrival_rates(topology, 1.0, plan.placement.threads).operators.tolist()
    return {operator.name: rate for operator, rate in zip(topology.operators, rates, strict=True)}


def service_ms(operator: str, observations: Sequence[Observation]) -> float | None:
    """The mean over all tuples; None where none was timed."""
    total = tuples = 0.0
    for seen in observations:
        load = loads(seen)[operator]
        if load.service_ms and load.arrival_rate > 0:
            total += load.service_ms * load.arrival_rate
            tuples += load.arrival_rate
    return total / tuples if tuples else None


def pending(operator: str, plan: Plan, seen: Observation) -> float:
    """Tuples that wait for the operator, and those that inputs not yet taken in will cause."""
    queue = loads(seen)[operator].queue or 0.0
    sources = {source.name for source in plan.pipeline.topology.sources}
    return (seen.backlog or 0.0) * visits(plan)[operator] + (0.0 if operator in sources else queue)
