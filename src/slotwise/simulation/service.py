"""How long threads take: the profile at the thread count their slot really has.

A thread's mean service time is its group's threads over the group's peak rate (predictors.groups:
profile × node speed). Threads with a fixed load take no time. Where a slot's groups need more CPU
than it has at the offered rate, all its threads slow down by one factor F: the one at which they
use exactly what there is. That is Σ cpu·min(1/F, utilisation) = CPU left by fixed loads; threads
above 1/F fall behind, the others get what they ask for (a fair share). Below that, measured
profiles say how much less time than at their peak tuples take (prediction.contention).

Hops and other overheads (prediction.overheads) count towards the CPU; the kernels add their time to
each tuple's. What a slot takes for buffers at the offered rate counts as a fixed load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Plan, Platform
from slotwise.prediction.buffers import Buffers
from slotwise.prediction.contention import loaded_part
from slotwise.prediction.groups import Groups, groups_of, shares_by_weight, summed
from slotwise.prediction.overheads import overheads_of
from slotwise.prediction.rate import cpu_need, own_shares, slot_cpu, stream_shares
from slotwise.rates import ArrivalRates, arrival_rates
from slotwise.simulation.kernels.draws import (
    DETERMINISTIC,
    EXPONENTIAL,
    GAMMA_SHAPED,
    LOGNORMAL,
    SAMPLES,
)
from slotwise.simulation.key_shares import key_shares
from slotwise.simulation.options import Keys, ServiceTimes

Floats = NDArray[np.float64]


class ThreadFigures(NamedTuple):
    """Per thread; CPU and memory in reference slots."""

    service_s: Floats
    """Mean time of the operator's own work on a tuple."""
    visit_s: Floats
    """Time of overheads for each tuple, however far it goes."""
    send_s: Floats
    """[thread, distance], for each tuple that is sent."""
    receive_s: Floats
    cpu: Floats
    """While it is busy, more than while it waits."""
    mem: Floats
    always_cpu: Floats
    """Busy or not."""
    always_mem: Floats
    slowed: Floats
    """How much its slot slows it down."""
    buffers: Buffers | None
    """What slots take for buffers, at parts of the nominal input rate."""


def thread_figures(plan: Plan, rate: float, drawn: Keys) -> ThreadFigures:
    """O(threads log threads + streams × (slots + groups))."""
    groups = groups_of(plan.pipeline, plan.cluster, plan.placement)
    rates = arrival_rates(plan.pipeline.topology, rate, plan.placement.threads)
    shares, receiving = _shares(groups, plan, rates, drawn)
    overheads = overheads_of(plan.pipeline, plan.cluster, groups, rates)
    charged, own = overheads.charged(shares, receiving), overheads.own
    arriving = np.asarray(rates.operators[groups.operator] * shares, dtype=np.float64)
    slots = plan.cluster.slots
    here = charged.at(1.0)
    slowed = _slowdown(here, plan, arriving)[groups.slot]
    need = slot_cpu(here, arriving, slots)
    loaded = np.where(slowed > 1, 1.0, loaded_part(here, arriving, need, plan.cluster))
    keys, at = np.unique(groups.operator * slots + groups.slot, return_inverse=True)
    threads = summed(groups.threads.astype(np.float64), at)
    mine = np.searchsorted(keys, plan.placement.thread_operator * slots + plan.placement.slots)
    seconds = np.where(own.fixed, 0.0, own.threads / own.peak * slowed * loaded)
    first = np.zeros(len(keys), dtype=np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]
    # P-Deployer's transfers are not slowed down, as they never were; the platform's hops are.
    hop_speed = overheads.speed
    if plan.pipeline.platform != Platform():
        hop_speed = hop_speed / slowed

    def of_thread(values: Floats) -> Floats:
        return np.asarray((summed(values, at) / threads)[mine])

    return ThreadFigures(
        service_s=seconds[first][mine],
        visit_s=(overheads.visit / hop_speed)[first][mine],
        send_s=(overheads.send / hop_speed[:, None])[first][mine],
        receive_s=(overheads.receive / hop_speed[:, None])[first][mine],
        cpu=of_thread((charged.cpu - charged.waiting_cpu) / slowed),
        mem=of_thread(charged.mem),
        always_cpu=of_thread((charged.always_cpu + charged.waiting_cpu) / slowed),
        always_mem=of_thread(charged.always_mem),
        slowed=slowed[first][mine],
        buffers=charged.buffers,
    )


def _slowdown(groups: Groups, plan: Plan, arriving: Floats) -> Floats:
    """Per slot, F; 1 where the CPU suffices. `arriving` is tuples/s per group."""
    cluster = plan.cluster
    busy = np.where(groups.fixed, 1.0, np.minimum(arriving / groups.peak, 1.0))
    need = slot_cpu(groups, arriving, cluster.slots)
    _, always = cpu_need(groups, arriving, cluster.slots)
    more = groups.cpu - groups.waiting_cpu
    factor = np.ones(cluster.slots)
    for slot in np.flatnonzero(need > cluster.slot_cpu * (1 + 1e-9)).tolist():
        here = groups.slot == slot
        ours = here & ~groups.fixed
        # Fixed loads do not slow down; a thousandth of a core is left even where they take all.
        left = max(float(cluster.slot_cpu[slot] - always[slot]), 1e-3)
        factor[slot] = _fair_factor(more[ours], busy[ours], left)
    return factor


def _shares(
    groups: Groups, plan: Plan, rates: ArrivalRates, drawn: Keys
) -> tuple[Floats, list[Floats]]:
    """Each group's part of its operator's tuples as the topology's groupings route them; and of
    each stream's.

    By this run's keys: with the usual ones, which a prediction takes, a slot that they overload
    would be slowed down in place of the one that is overloaded.
    """
    topology, placement = plan.pipeline.topology, plan.placement
    of_threads = key_shares(plan, rates, drawn)
    keyed = summed(of_threads, groups.of_threads(placement), len(groups.threads))
    groups = replace(groups, keyed=keyed)
    by_weight = groups.even_shares()
    if any(plan.routing(stream) == "weighted" for stream in topology.streams):
        by_weight = shares_by_weight(groups, plan, plan.cluster.slots)
    shares = own_shares(groups, topology, rates, by_weight)
    return shares, stream_shares(groups, topology, by_weight)


def _fair_factor(cpu: Floats, busy: Floats, left: float) -> float:
    """The F with Σ cpu·min(1/F, busy) = left, by the least busy groups first."""
    order = np.argsort(busy, kind="stable")
    rest = float(cpu.sum())
    for position in order.tolist():
        if busy[position] * rest >= left:
            break
        left -= busy[position] * cpu[position]
        rest -= cpu[position]
    return max(rest / left, 1.0)


def variations(
    plan: Plan, service: ServiceTimes, by_operator: Mapping[str, ServiceTimes]
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64], Floats]:
    """Per operator: kind and shape for draws.service_factor, and where its samples start in the
    last array (one more entry at the end).
    """
    kinds, shapes, starts = [], [], [0]
    samples: list[float] = []
    for operator in plan.pipeline.topology.operators:
        kind, shape, own = _variation(plan, operator.name, by_operator.get(operator.name, service))
        kinds.append(kind)
        shapes.append(shape)
        samples += own
        starts.append(len(samples))
    return np.array(kinds), np.array(shapes), np.array(starts), np.array(samples, dtype=np.float64)


def _variation(plan: Plan, operator: str, times: ServiceTimes) -> tuple[int, float, list[float]]:
    match times.distribution:
        case "deterministic":
            return DETERMINISTIC, 0.0, []
        case "exponential":
            return EXPONENTIAL, 0.0, []
        case "lognormal" if times.scv:
            return LOGNORMAL, float(np.sqrt(np.log1p(times.scv))), []
        case "samples":
            mean = float(np.mean(times.samples))
            return SAMPLES, 0.0, [sample / mean for sample in times.samples]
    scv = plan.pipeline.profiles.service_scv(operator) if times.scv is None else times.scv
    if scv == 0:
        return DETERMINISTIC, 0.0, []
    return (EXPONENTIAL, 0.0, []) if scv == 1 else (GAMMA_SHAPED, 1 / scv, [])
