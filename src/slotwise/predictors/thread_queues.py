"""Mean waits where every thread has a queue of its own, as in Spark and Storm.

Paper 5's queue per operator lets any idle thread take the next tuple. Engines deal tuples out to
threads, so one thread's queue grows while another is idle: waits are several times longer. This is
Whitt's Queueing Network Analyzer on the threads: how irregular the tuples reach a thread (squared
coefficient of variation) follows from how they leave the threads before, how the grouping deals
them out, and how many senders mix; the wait is Kraemer and Langenbach-Belz's for one server.
"""

from __future__ import annotations

import math

import numpy as np

from slotwise.model import FixedLoad, Pipeline, ServiceRate
from slotwise.predictors.groups import Floats, Groups
from slotwise.rates import ArrivalRates

_LOOP_ROUNDS = 10
"""Tuples that come round a loop change how tuples arrive; this settles within a few rounds."""


def waits_s(
    pipeline: Pipeline, groups: Groups, capacity: Floats, arriving: Floats, rates: ArrivalRates
) -> Floats:
    """Per operator, its tuples' mean wait in seconds; infinite where a thread cannot keep up.

    `capacity` and `arriving` are tuples/s per group. O(streams + groups), a few rounds with loops.
    """
    busy = np.where(groups.fixed, 0.0, arriving / np.where(groups.fixed, 1.0, capacity))
    mean_busy = np.minimum(_weighted(groups, busy, arriving), 0.999)
    irregular = _arrival_variation(pipeline, groups, mean_busy, rates)
    waits = np.zeros(len(busy))
    for group in np.flatnonzero(~groups.fixed & (arriving > 0)).tolist():
        operator = int(groups.operator[group])
        service_s = float(groups.threads[group] / capacity[group])
        variation = _service_variation(pipeline, operator)
        waits[group] = _wait_s(float(busy[group]), service_s, irregular[operator], variation)
    return _weighted(groups, waits, arriving)


def _arrival_variation(
    pipeline: Pipeline, groups: Groups, busy: Floats, rates: ArrivalRates
) -> list[float]:
    """Per operator, the variation of the times between tuples at one of its threads."""
    topology = pipeline.topology
    threads = groups.operator_threads
    arrival = [_source_variation(pipeline, position) for position in range(groups.operators)]
    leaving = list(arrival)
    for _ in range(_LOOP_ROUNDS if topology.has_loops else 1):
        for position in topology.order:
            mixed, senders = 0.0, 0.0
            for stream in topology.inputs[position]:
                source = topology.edges[stream][0]
                share = float(rates.streams[stream] / max(rates.operators[position], 1e-300))
                mixed += share * _dealt(
                    topology.streams[stream].grouping.kind,
                    _emitted(leaving[source], topology.streams[stream].selectivity),
                    float(threads[position]),
                )
                senders += share**2 / float(threads[source])
            if senders:
                arrival[position] = _superposed(mixed, 1 / senders, float(busy[position]))
            leaving[position] = _departing(
                arrival[position], _service_variation(pipeline, position), float(busy[position])
            )
    return arrival


def _emitted(leaving: float, selectivity: float) -> float:
    """Several tuples at once come in bursts; fewer than one are picked at random."""
    if selectivity >= 1:
        return leaving * selectivity
    return selectivity * leaving + 1 - selectivity


def _dealt(grouping: str, variation: float, threads: float) -> float:
    """What one of the target's threads sees of one sender."""
    if grouping in ("all", "global"):
        return variation
    if grouping == "fields":  # a key's thread is as good as drawn
        return variation / threads + 1 - 1 / threads
    return variation / threads  # round robin takes every n-th


def _superposed(variation: float, senders: float, busy: float) -> float:
    """Many senders mixed look random, the more so the less busy their receiver is (Whitt)."""
    weight = 1 / (1 + 4 * (1 - busy) ** 2 * max(0.0, senders - 1))
    return weight * variation + 1 - weight


def _departing(arrival: float, service: float, busy: float) -> float:
    """How tuples leave a single server: as they came if it idles, as it serves if it is busy."""
    return busy**2 * service + (1 - busy**2) * arrival


def _wait_s(busy: float, service_s: float, arrival: float, service: float) -> float:
    """Kraemer and Langenbach-Belz; exact for M/M/1 and M/G/1."""
    if busy >= 1 - 1e-9:
        return math.inf
    correction = 1.0
    if arrival < 1 and arrival + service > 0:
        correction = math.exp(
            -2 * (1 - busy) * (1 - arrival) ** 2 / (3 * busy * (arrival + service))
        )
    return busy / (1 - busy) * (arrival + service) / 2 * service_s * correction


def _weighted(groups: Groups, values: Floats, arriving: Floats) -> Floats:
    """Per operator, the mean of its groups' values by the tuples they get."""
    total = groups.per_operator(arriving)
    parts = np.where(arriving > 0, values * arriving, 0.0)
    return np.divide(
        groups.per_operator(parts), total, out=np.zeros(groups.operators), where=total > 0
    )


def _source_variation(pipeline: Pipeline, position: int) -> float:
    """Sources emit at random times, unless their profile says how irregular."""
    profile = pipeline.profiles[pipeline.topology.operators[position].name]
    return profile.arrival_scv if isinstance(profile, ServiceRate) else 1.0


def _service_variation(pipeline: Pipeline, position: int) -> float:
    match pipeline.profiles[pipeline.topology.operators[position].name]:
        case ServiceRate() as profile:
            return profile.service_scv
        case FixedLoad():
            return 0.0
        case _:
            return 1.0
