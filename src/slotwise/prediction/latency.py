"""Mean latency of an open network of queues (paper 5), with the network's share added.

Paper 5 left the network out and fell short of its measurements where that dominates. From the
mean times T_i that tuples spend at operators come two figures:

- the sojourn time, paper 5's E[T] = (1/λ0) (Σ λ_i E[T_i] + Σ over streams of rate × mean delay):
  all the time that an input and everything it causes spend;
- the latency at sinks: how old tuples are in the mean when they leave the dataflow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import OperatorLoad, Pipeline, Topology
from slotwise.prediction.groups import Floats, Groups, summed
from slotwise.rates import ArrivalRates


@dataclass(frozen=True)
class Work:
    """What each group of threads is asked for, and what it can do where it is."""

    capacity: Floats
    """Tuples/s; infinite for a fixed load."""
    overloaded: NDArray[np.bool_]
    cpu: Floats
    """Cores in use."""
    service_scv: Floats
    """Squared coefficient of variation of service times."""
    loaded: Floats
    """The part of the time at its capacity that a tuple takes of a thread at this load."""

    def stuck(self, groups: Groups) -> NDArray[np.bool_]:
        """The operators with an overloaded group: they have no bounded latency, however idle their
        other threads are.
        """
        return groups.per_operator(self.overloaded.astype(np.float64)) > 0

    def service_s(self, groups: Groups) -> Floats:
        """A thread's mean service time, per group; a fixed load takes none."""
        return np.where(groups.fixed, 0.0, groups.threads / self.capacity * self.loaded)


@dataclass(frozen=True)
class OperatorTimes:
    """Per operator, how long its tuples wait and are served in the mean, in seconds."""

    waiting_s: Floats
    service_s: Floats
    service_scv: Floats
    """Squared coefficient of variation of their service times; 0 where they take no time."""

    @property
    def ms(self) -> list[float]:
        total: list[float] = (1000 * (self.waiting_s + self.service_s)).tolist()
        return total


def operator_loads(
    pipeline: Pipeline,
    groups: Groups,
    work: Work,
    times: OperatorTimes,
    rates: ArrivalRates,
    delay_ms: Floats,
) -> tuple[OperatorLoad, ...]:
    """All operators; `delay_ms` is how long the tuples of each stream travel in the mean.

    O(groups + streams).
    """
    capacity = groups.per_operator(work.capacity).tolist()
    cpu = groups.per_operator(work.cpu).tolist()
    sending = np.array([source for source, _ in pipeline.topology.edges], dtype=np.int64)
    emitted = summed(rates.streams, sending, groups.operators).tolist()
    travel_ms = _travel_ms(pipeline.topology, rates, delay_ms).tolist()
    waiting, service = times.waiting_s.tolist(), times.service_s.tolist()
    variation = times.service_scv.tolist()
    loads = []
    for i, (operator, rate) in enumerate(
        zip(pipeline.topology.operators, rates.operators.tolist(), strict=True)
    ):
        wait_s, service_s = waiting[i], service[i]
        loads.append(
            OperatorLoad(
                operator=operator.name,
                arrival_rate=rate,
                emitted_rate=emitted[i],
                capacity=capacity[i],
                utilisation=rate / capacity[i],
                waiting_ms=wait_s * 1000,
                service_ms=service_s * 1000,
                network_ms=travel_ms[i],
                service_scv=variation[i],
                cpu=cpu[i],
                queue=rate * wait_s if rate > 0 else 0.0,
            )
        )
    return tuple(loads)


def _travel_ms(topology: Topology, rates: ArrivalRates, delay_ms: Floats) -> Floats:
    """How long the tuples that arrive at each operator have travelled to it, in the mean."""
    targets = np.array([target for _, target in topology.edges], dtype=np.int64)
    total = summed(rates.streams * delay_ms, targets, len(rates.operators))
    return np.divide(total, rates.operators, out=np.zeros_like(total), where=rates.operators > 0)


def sojourn_ms(times_ms: Sequence[float], rates: ArrivalRates, network_ms: float) -> float:
    """E[T]; `times_ms` is each operator's waiting and service, `network_ms` per input already."""
    at_work = math.fsum(
        rate * time
        for rate, time in zip(rates.operators.tolist(), times_ms, strict=True)
        if rate > 0
    )
    return at_work / rates.external + network_ms


def sink_latency_ms(
    topology: Topology, times_ms: Sequence[float], rates: ArrivalRates, delay_ms: Floats
) -> float | None:
    """How old tuples are when operators without outputs are done with them, in the mean; None
    where no tuple gets to one.

    A tuple arrives as old as its cause was when it was sent, and the way: λ_j A_j = Σ over streams
    from i to j of rate × (A_i + T_i + delay). With loops that is one linear system. Infinite where
    an operator on the way has no bounded wait. O(operators + streams); with loops O(operators³).
    """
    arriving, ends = rates.operators, list(topology.ends)
    if not arriving[ends].sum() > 0:
        return None
    times = np.where(arriving > 0, np.array(times_ms, dtype=np.float64), 0.0)
    if not np.all(np.isfinite(times)):
        return math.inf
    sources, targets = np.array(topology.edges, dtype=np.int64).reshape(-1, 2).T
    shares = np.divide(
        rates.streams,
        arriving[targets],
        out=np.zeros(len(targets)),
        where=arriving[targets] > 0,
    )
    ages = summed(shares * (times[sources] + delay_ms), targets, len(times))
    if topology.has_loops:
        flow = np.zeros((len(times), len(times)))
        np.add.at(flow, (targets, sources), shares)
        ages = np.asarray(np.linalg.solve(np.identity(len(times)) - flow, ages), dtype=np.float64)
    else:
        for position in topology.order:
            for stream in topology.inputs[position]:
                ages[position] += shares[stream] * ages[sources[stream]]
    return float(((ages + times) * arriving)[ends].sum() / arriving[ends].sum())
