"""Figures of several windows of a run in the mean."""

from __future__ import annotations

from collections.abc import Sequence

from slotwise.learning.work import OwnWork
from slotwise.model import Observation, Plan

LEAST_TUPLES = 30
"""Of fewer, a mean says too little."""


class Seen:
    """Means over all windows."""

    def __init__(self, plan: Plan, observations: Sequence[Observation], smoothing: float) -> None:
        self.plan, self.observations = plan, observations
        self.simulated = observations[-1].origin != "measured"
        ages = range(len(observations) - 1, -1, -1)
        self.weights = [
            smoothing**age * _seconds(seen) for age, seen in zip(ages, observations, strict=True)
        ]

    def work(self, operator: int) -> OwnWork | None:
        """Of an operator in the mean; None: too few tuples were timed."""
        loads = [seen.operators[operator] for seen in self.observations]
        found = [
            OwnWork.of(
                load.arrival_rate, load.service_ms, load.cpu, load.service_scv, self.simulated
            )
            for load in loads
        ]
        tuples = self._tuples(operator)
        service_s = _mean([None if each is None else each.service_s for each in found], tuples)
        if service_s is None:
            return None
        return OwnWork(
            service_s,
            _mean([None if each is None else each.cpu_s for each in found], tuples),
            _mean([None if each is None else each.service_scv for each in found], tuples),
        )

    def selectivity(self, stream: int) -> float:
        """Of a stream in the mean, as given where too little was seen."""
        topology = self.plan.pipeline.topology
        each = [
            seen.streams[stream].selectivity if seen.streams else None for seen in self.observations
        ]
        measured = _mean(each, self._tuples(topology.edges[stream][0]))
        return measured or topology.streams[stream].selectivity

    @property
    def offered_rate(self) -> float:
        """The mean input rate."""
        return _mean([seen.offered_rate for seen in self.observations], self.weights, 0.0) or 0.0

    @property
    def slot_cpu(self) -> list[float | None]:
        """Per slot, the part of its CPU that it uses in the mean."""
        return [
            _mean(
                [seen.slots[slot].cpu if seen.slots else None for seen in self.observations],
                self.weights,
                least=0.0,
            )
            for slot in range(self.plan.cluster.slots)
        ]

    def _tuples(self, operator: int) -> list[float]:
        """Per window, as many as count."""
        return [
            weight * seen.operators[operator].arrival_rate
            for weight, seen in zip(self.weights, self.observations, strict=True)
        ]


def _seconds(seen: Observation) -> float:
    return 1.0 if seen.start_s is None or seen.end_s is None else seen.end_s - seen.start_s


def _mean(
    values: Sequence[float | None], weights: Sequence[float], least: float = LEAST_TUPLES
) -> float | None:
    """Over the windows where it is known; None where those weigh too little."""
    known = [(v, w) for v, w in zip(values, weights, strict=True) if v is not None]
    total = sum(weight for _, weight in known)
    return sum(v * w for v, w in known) / total if total > 0 and total >= least else None
