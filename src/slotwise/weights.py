"""Routing weights that fill every slot evenly: paper 1's open problem.

The paper assumes that tuples reach slots in proportion to what they can do, but shuffle grouping
sends every thread the same. Weights close that gap: a slot's threads together get what their slot
can do, as a part of what all slots of the operator can do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Pipeline, Placement, Platform, SlotwiseError, Topology
from slotwise.model.limits import LARGEST
from slotwise.prediction.groups import Floats, Groups, groups_of, summed
from slotwise.prediction.overheads import overheads_of
from slotwise.prediction.rate import cpu_need, sustained_rate
from slotwise.rates import ArrivalRates, arrival_rates


def weights(
    pipeline: Pipeline, cluster: Cluster, placement: Placement
) -> dict[str, tuple[float, ...]]:
    """Per operator, the part of its tuples each thread should get, summing to 1.

    With these weights (`weighted` grouping) the predicted rate is the proportional one, and no
    routing over this placement sustains more.
    """
    unit = arrival_rates(pipeline.topology, 1.0, placement.threads)
    groups = _charged_groups(pipeline, cluster, placement, unit)
    shares = proportional_shares(groups, pipeline.topology, unit, cluster)
    keys, at = np.unique(groups.operator * cluster.slots + groups.slot, return_inverse=True)
    per_thread = summed(shares, at) / summed(groups.threads.astype(np.float64), at)
    mine = np.searchsorted(keys, placement.thread_operator * cluster.slots + placement.slots)
    bounds = np.concatenate(([0], np.cumsum(placement.threads)))
    return {
        operator.name: tuple(per_thread[mine[bounds[i] : bounds[i + 1]]].tolist())
        for i, operator in enumerate(pipeline.topology.operators)
    }


def _charged_groups(
    pipeline: Pipeline, cluster: Cluster, placement: Placement, unit: ArrivalRates
) -> Groups:
    """With the platform's costs if tuples were divided evenly: where they go decides what they
    cost. Buffers cost what they do at the rate that this sustains. Fixed loads stay without a rate,
    and so are divided evenly.
    """
    groups = groups_of(pipeline, cluster, placement)
    if pipeline.platform == Platform():
        return groups
    even = groups.even_shares()
    charged = overheads_of(pipeline, cluster, groups, unit).charged(even)
    if charged.buffers is not None:
        charged = charged.at(min(sustained_rate(charged, even, unit, cluster).rate, LARGEST))
    return replace(
        charged,
        peak=np.where(groups.fixed, np.inf, charged.peak),
        cpu=np.where(groups.fixed, 0.0, charged.cpu),
    )


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
    shares = _relieved(groups, emitting, unit, cluster, by_peak, by_threads.rate)
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
    most: float,
) -> Floats:
    """max R such that groups handle all of R·u, none above its peak, no slot above its CPU.

    `most` is what R cannot pass. Rates of operators may differ by many orders of magnitude, and a
    solver takes small ones for rounding errors; so R is counted in parts of `most`, a group's
    tuples in parts of what then reaches its operator, and CPU in parts of what fixed loads leave.
    """
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    rate = solver.NumVar(0, 1, "rate")
    solver.Maximize(rate)
    _, fixed = cpu_need(groups, np.zeros(len(groups.peak)), cluster.slots)
    left = (cluster.slot_cpu - fixed)[groups.slot]
    cores = [solver.Constraint(-solver.infinity(), 1) for _ in range(cluster.slots)]
    # Of all that then reaches its operator: the CPU it takes, and the part that a group can do.
    reaching = unit.operators[groups.operator] * most
    need = groups.cpu * (reaching / groups.peak)
    able = np.divide(groups.peak, reaching, out=np.ones(len(reaching)), where=reaching > 0)
    able[(need > 0) & (left <= 0)] = 0.0
    limited = np.flatnonzero(~groups.fixed).tolist()
    handled = {group: solver.NumVar(0, min(1.0, float(able[group])), "") for group in limited}
    for group, variable in handled.items():
        if able[group] > 0 and need[group] > 0:
            part = float(need[group] / left[group])
            cores[groups.slot[group]].SetCoefficient(variable, part)
    for operator in np.unique(groups.operator[limited]).tolist():
        here = groups.of_operator(operator)
        members = range(here.start, here.stop)
        # A routed operator's groups share its tuples in any way, a source's as they are.
        flows = [[group] for group in members] if emitting[operator] else [list(members)]
        for flow in flows:
            balance = solver.Constraint(0, 0)
            for group in flow:
                balance.SetCoefficient(handled[group], 1)
            balance.SetCoefficient(rate, -float(by_peak[flow].sum()))
    if (status := solver.Solve()) != pywraplp.Solver.OPTIMAL:
        # R = 0 is always possible and R = 1 the most: there is an optimum.
        raise SlotwiseError(
            f"no routing weights: the solver of their linear program failed (GLOP, status {status})"
        )
    solution = np.zeros(len(groups.peak))
    solution[limited] = [max(0.0, handled[group].solution_value()) for group in limited]
    total = groups.per_operator(solution)[groups.operator]
    return np.divide(solution, total, out=by_peak.copy(), where=(total > 0) & ~groups.fixed)
