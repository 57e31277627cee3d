"""A plan with its simulation in short: percentiles, stability and the busiest thread.

Analytic predictions rank plans; what a plan promises is confirmed by simulating it.
"""

from __future__ import annotations

from dataclasses import replace

from slotwise.model import Plan
from slotwise.rates import arrival_rates

SEED = 0
VISITS_PER_THREAD = 2_000
"""So many visits settle a queue at the usual loads, and show its slowest hundredth."""
LEAST_VISITS, MOST_VISITS = 500_000, 4_000_000
"""At most about a second, and for small plans some hundredths of one."""
LEAST_INPUTS = 1_000


def confirmed(plan: Plan, seed: int = SEED) -> Plan:
    """The plan with `simulated`: Poisson arrivals at its rate, service times as in its profiles.

    Time is linear in the visits, whose number is bounded: a plan one of whose inputs causes too
    many is left without a simulation, and says so.
    """
    from slotwise.simulation import simulate

    per_input = _visits_per_input(plan)
    if per_input > MOST_VISITS / LEAST_INPUTS:
        reason = f"not simulated: an input causes {per_input:,.3g} visits to operators"
        return replace(plan, reasons=(*plan.reasons, reason))
    seen = simulate(plan, tuples=_inputs(plan, per_input), seed=seed)
    # A plan is a short value: what is known of every part and every moment stays out.
    short = replace(
        seen,
        operators=(),
        streams=(),
        threads=(),
        slots=(),
        nodes=(),
        links=(),
        thread_traffic=None,
        slot_traffic=None,
        node_traffic=None,
        series=None,
    )
    return replace(plan, simulated=short)


def _visits_per_input(plan: Plan) -> float:
    rates = arrival_rates(plan.pipeline.topology, 1.0, plan.placement.threads)
    return float(rates.operators.sum()) / rates.external


def _inputs(plan: Plan, per_input: float) -> int:
    threads = sum(plan.placement.threads)
    visits = min(max(threads * VISITS_PER_THREAD, LEAST_VISITS), MOST_VISITS)
    return max(LEAST_INPUTS, round(visits / per_input))
