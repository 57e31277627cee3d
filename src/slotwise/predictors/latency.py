"""Mean latency by an open Jackson network (paper 5), with the network's share added.

E[T] = (1/λ0) (Σ λ_i E[T_i](k_i) + Σ over streams of their rate × mean delay). E[T_i] is Erlang's
formula for k_i threads, or Allen and Cunneen's where the profile tells the variation; paper 5 left
the network out and fell short of its measurements where that dominates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from slotwise.model import OperatorLoad, Pipeline, ServiceRate
from slotwise.predictors.groups import Floats, Groups, summed
from slotwise.queueing import sojourn
from slotwise.rates import ArrivalRates


def operator_loads(
    pipeline: Pipeline,
    groups: Groups,
    capacity: Floats,
    overloaded: NDArray[np.bool_],
    rates: ArrivalRates,
    delay_ms: Floats,
) -> tuple[OperatorLoad, ...]:
    """Each operator as one queue whose threads share its capacity.

    `capacity` is each group's rate where it is, `delay_ms` how long the tuples of each stream
    travel in the mean. An operator with one `overloaded` group has no bounded latency, however idle
    the others are.
    """
    stuck = groups.per_operator(overloaded.astype(np.float64)) > 0
    per_operator = zip(
        pipeline.topology.operators,
        groups.operator_threads.astype(int).tolist(),
        groups.per_operator(capacity).tolist(),
        rates.operators.tolist(),
        stuck.tolist(),
        _travel_ms(pipeline, rates, delay_ms).tolist(),
        strict=True,
    )
    return tuple(
        replace(
            _load(operator.name, threads, total, rate, _variation(pipeline, operator.name), full),
            network_ms=travel_ms,
        )
        for operator, threads, total, rate, full, travel_ms in per_operator
    )


def _travel_ms(pipeline: Pipeline, rates: ArrivalRates, delay_ms: Floats) -> Floats:
    """How long the tuples that arrive at each operator have travelled to it, in the mean."""
    targets = np.array([target for _, target in pipeline.topology.edges], dtype=np.int64)
    total = summed(rates.streams * delay_ms, targets, len(rates.operators))
    return np.divide(total, rates.operators, out=np.zeros_like(total), where=rates.operators > 0)


def mean_latency_ms(loads: Sequence[OperatorLoad], network_ms: float, external: float) -> float:
    """`network_ms` is per input tuple already."""
    at_work = math.fsum(
        load.arrival_rate * (load.waiting_ms + load.service_ms)
        for load in loads
        if load.arrival_rate > 0
    )
    return at_work / external + network_ms


def _load(
    name: str, threads: int, capacity: float, rate: float, variation: float, overloaded: bool
) -> OperatorLoad:
    if math.isinf(capacity):
        return OperatorLoad(name, rate, capacity, 0.0, 0.0, 0.0)
    wait, service = sojourn(threads, rate, capacity / threads, variation)
    wait = math.inf if overloaded else wait
    return OperatorLoad(name, rate, capacity, rate / capacity, wait * 1000, service * 1000)


def _variation(pipeline: Pipeline, operator: str) -> float:
    """(ca² + cs²)/2 where the profile tells it, else 1: Poisson arrivals, exponential service."""
    profile = pipeline.profiles[operator]
    if isinstance(profile, ServiceRate):
        return (profile.arrival_scv + profile.service_scv) / 2
    return 1.0
