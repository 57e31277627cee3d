"""Routing weights that fill every slot evenly: paper 1's open problem.

The paper assumes that tuples reach slots in proportion to what they can do, but shuffle grouping
sends every thread the same. Weights close that gap: a slot's threads together get what their slot
can do, as a part of what all slots of the operator can do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Pipeline, Placement, Plan, Topology
from slotwise.predictors.groups import Floats, Groups, groups_of, summed
from slotwise.predictors.rate import cpu_need, sustained_rate
from slotwise.rates import ArrivalRates, arrival_rates


def weights(
    pipeline: Pipeline, cluster: Cluster, placement: Placement
) -> dict[str, tuple[float, ...]]:
    """Per operator, the part of its tuples each thread should get, summing to 1.

    With these weights (`weighted` grouping) the predicted rate is the proportional one, and no
    routing over this placement sustains more.
    """
    groups = groups_of(pipeline, cluster, placement)
    unit = arrival_rates(pipeline.topology, 1.0, placement.threads)
    shares = proportional_shares(groups, pipeline.topology, unit, cluster)
    keys, at = np.unique(groups.operator * cluster.slots + groups.slot, return_inverse=True)
    per_thread = summed(shares, at) / summed(groups.threads.astype(np.float64), at)
    mine = np.searchsorted(keys, placement.thread_operator * cluster.slots + placement.slots)
    bounds = np.concatenate(([0], np.cumsum(placement.threads)))
    return {
        operator.name: tuple(per_thread[mine[bounds[i] : bounds[i + 1]]].tolist())
        for i, operator in enumerate(pipeline.topology.operators)
    }


def shares_by_weight(groups: Groups, plan: Plan, slots: int) -> Floats:
    """Each group's part of its operator's tuples under the plan's weights."""
    placement = plan.placement
    per_thread = np.concatenate([plan.weights[o.name] for o in plan.pipeline.topology.operators])
    keys, at = np.unique(placement.thread_operator * slots + placement.slots, return_inverse=True)
    per_slot = summed(per_thread, at) / summed(np.ones(len(at)), at)
    mine = np.searchsorted(keys, groups.operator * slots + groups.slot)
    return np.asarray(per_slot[mine] * groups.threads, dtype=np.float64)


def proportional_shares(
    groups: Groups, topology: Topology, unit: ArrivalRates, cluster: Cluster
) -> Floats:
    """Each group's part of its operator's tuples that lets the most through.

    By the model's peak rates, which is best while no slot is short of CPU. Where one is, a linear
    program says how far its groups must be relieved; operators it does not concern keep theirs.
    Nobody routes to a source: its threads emit evenly.
    """
    emitting = np.array([operator.kind == "source" for operator in topology.operators])
    even = groups.even_shares()
    by_peak = np.where(emitting[groups.operator], even, groups.shares_of(groups.peak))
    by_threads = sustained_rate(groups, by_peak, unit, cluster, of_slots=False)
    if sustained_rate(groups, by_peak, unit, cluster).rate >= by_threads.rate * (1 - 1e-9):
        return by_peak
    shares = _relieved(groups, emitting, unit, cluster, by_peak)
    best_rate = sustained_rate(groups, shares, unit, cluster).rate
    for operator in range(groups.operators):
        here = groups.of_operator(operator)
        restored = shares.copy()
        restored[here] = by_peak[here]
        if sustained_rate(groups, restored, unit, cluster).rate >= best_rate * (1 - 1e-9):
            shares = restored
    return shares


def _relieved(
    groups: Groups,
    emitting: NDArray[np.bool_],
    unit: ArrivalRates,
    cluster: Cluster,
    by_peak: Floats,
) -> Floats:
    """max R such that groups handle all of R·u, none above its peak, no slot above its CPU."""
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    rate = solver.NumVar(0, solver.infinity(), "rate")
    solver.Maximize(rate)
    _, fixed = cpu_need(groups, np.zeros(len(groups.peak)), cluster.slots)
    cores = [solver.Constraint(-solver.infinity(), max(0.0, c)) for c in cluster.slot_cpu - fixed]
    limited = np.flatnonzero(~groups.fixed).tolist()
    handled = {group: solver.NumVar(0, float(groups.peak[group]), "") for group in limited}
    for group, variable in handled.items():
        per_tuple = float(groups.cpu[group] / groups.peak[group])
        cores[groups.slot[group]].SetCoefficient(variable, per_tuple)
    for operator in np.unique(groups.operator[limited]).tolist():
        here = groups.of_operator(operator)
        members = range(here.start, here.stop)
        arriving = float(unit.operators[operator])
        # A routed operator's groups share its tuples in any way, a source's as they are.
        flows = [[group] for group in members] if emitting[operator] else [list(members)]
        for flow in flows:
            balance = solver.Constraint(0, 0)
            for group in flow:
                balance.SetCoefficient(handled[group], 1)
            part = float(by_peak[flow].sum())
            balance.SetCoefficient(rate, -arriving * part)
    solver.Solve()
    solution = np.zeros(len(groups.peak))
    solution[limited] = [max(0.0, handled[group].solution_value()) for group in limited]
    total = groups.per_operator(solution)[groups.operator]
    return np.divide(solution, total, out=by_peak.copy(), where=(total > 0) & ~groups.fixed)
