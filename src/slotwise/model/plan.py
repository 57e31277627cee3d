"""The answer: a Plan says how many threads, on which machines, and which thread where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slotwise.model.allocation import Allocation
from slotwise.model.cluster import Cluster
from slotwise.model.html import plan_html
from slotwise.model.observation import Observation, Prediction
from slotwise.model.pipeline import Pipeline
from slotwise.model.placement import Placement


@dataclass(frozen=True)
class Plan:
    """A pipeline's allocation, cluster and placement at one rate, with the reasons for each."""

    pipeline: Pipeline
    rate: float
    allocation: Allocation
    cluster: Cluster
    slots: int
    """Slots the threads were placed in: what the allocation pays for, and `extra_slots`."""
    extra_slots: int
    """Slots added because the placer could not place in what the allocation pays for."""
    placement: Placement
    weights: Mapping[str, tuple[float, ...]]
    """Per operator, the share of its input each thread should get so that slots fill evenly."""
    predicted: Prediction | None = None
    reasons: tuple[str, ...] = ()

    @property
    def threads(self) -> dict[str, int]:
        return {entry.operator: entry.threads for entry in self.allocation}

    @property
    def machines(self) -> int:
        return len(self.cluster.nodes)

    @property
    def cost_per_hour(self) -> float:
        return self.cluster.price_per_hour

    def threads_in_slots(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """Per slot of the cluster, how many threads of which operators are in it."""
        found: list[list[tuple[str, int]]] = [[] for _ in range(self.cluster.slots)]
        for operator, slot, threads in zip(
            *map(np.ndarray.tolist, self.placement.groups), strict=True
        ):
            found[slot].append((self.allocation.operators[operator].operator, threads))
        return tuple(map(tuple, found))

    def missed_goals(self, seen: Observation | None = None) -> tuple[str, ...]:
        """One sentence for each goal of the pipeline that was not met in what was `seen`: by
        default, in the prediction.
        """
        seen = seen or self.predicted
        if seen is None:
            return ()
        goals, missed = self.pipeline.goals, []
        if goals.rate is not None and seen.rate < goals.rate * (1 - 1e-9):
            missed.append(
                f"{seen.origin} rate {seen.rate:,.1f}/s is below the goal of {goals.rate:,.1f}/s "
                f"({seen.bottleneck} is the bottleneck)"
            )
        if goals.latency_ms is not None and seen.latency_ms > goals.latency_ms * (1 + 1e-9):
            missed.append(
                f"{seen.origin} latency is above the goal of {goals.latency_ms:,.1f} ms "
                f"({seen.latency_told})"
            )
        return tuple(missed)

    def _repr_html_(self) -> str:
        """Notebooks show this."""
        return plan_html(self)
