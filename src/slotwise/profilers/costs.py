"""Costs per tuple by regression over trials (paper 3): c_p, c_t, m_pt and t_soj.

    cores = c_p · in + c_t · (remote in + remote out)          P-Deployer, Equations 1 and 3
    memory = m_pt · (in + out)                                  Equation 2

Rates are tuples/s; what crosses nodes is remote. Trials differ in their rates and in where the
input comes from and the output goes to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slotwise.learning.work import in_a_slot
from slotwise.model import ServiceRate, SlotwiseError, TaskCosts
from slotwise.model.profile import POINTS_PER_CORE
from slotwise.profilers.trial import Trial


def task_costs(trials: Sequence[Trial], cores: float = 1.0) -> TaskCosts:
    """By least squares, none of them negative. `cores` is what a slot has: costs are in points of a
    slot, of which it has 100.

    Raises SlotwiseError without a trial that handled tuples.
    """
    used = [trial for trial in trials if trial.rate > 0]
    if not used:
        raise SlotwiseError("the costs of an operator that handled no tuple are not known")
    cpu, transfer = _least_squares(
        [(trial.rate, _remote(trial)) for trial in used], [t.cpu_cores / cores for t in used]
    )
    with_memory = [t for t in used if t.memory_mb is not None]
    memory = 0.0
    if with_memory:
        (memory,) = _least_squares(
            [(t.rate + t.emitted_rate,) for t in with_memory],
            [t.memory_mb or 0.0 for t in with_memory],
        )
    return TaskCosts(
        cpu_points=POINTS_PER_CORE * cpu,
        transfer_points=POINTS_PER_CORE * transfer,
        memory_mb=memory,
        sojourn_ms=sojourn_ms(used),
    )


def sojourn_ms(trials: Sequence[Trial]) -> float:
    """t_soj: how long a tuple is in its task, where it waits least: in the mean of the trials with
    the fewest threads; 0 if tuples are not timed one by one.
    """
    timed = [trial for trial in trials if trial.service_ms is not None]
    fewest = min((trial.threads for trial in timed), default=0)
    times = [t.service_ms for t in timed if t.threads == fewest and t.service_ms is not None]
    return float(np.mean(times)) if times else 0.0


def service_rate(
    trial: Trial, slot_memory_mb: float, cores: float = 1.0, arrival_scv: float | None = None
) -> ServiceRate:
    """Paper 5's profile from a trial of one thread: what it serves while it is busy, and no more
    than the slot's CPU allows: the engine's part of it is also taken while the thread waits.

    Where tuples are not timed one by one, the thread was busy all the time at its highest rate.
    """
    service_s = trial.service_ms / 1000 if trial.service_ms else 1 / trial.rate
    rate, cpu = in_a_slot(service_s, trial.cpu_cores / cores / max(trial.rate, 1e-9))
    return ServiceRate(
        rate=rate,
        cpu=cpu,
        mem=trial.memory_part(slot_memory_mb),
        arrival_scv=1.0 if arrival_scv is None else arrival_scv,
        service_scv=1.0 if trial.service_scv is None else trial.service_scv,
    )


def _remote(trial: Trial) -> float:
    """Tuples/s that cross nodes, in or out."""
    comes = trial.rate if trial.source == "cluster" else 0.0
    return comes + (trial.emitted_rate if trial.next_hop == "cluster" else 0.0)


def _least_squares(rows: Sequence[Sequence[float]], wanted: Sequence[float]) -> list[float]:
    from scipy.optimize import nnls

    # Each trial counts alike, whatever its rate.
    weights = 1 / np.maximum([row[0] for row in rows], 1e-12)
    matrix = np.array(rows) * weights[:, None]
    return [float(x) for x in nnls(matrix, np.array(wanted) * weights)[0]]
