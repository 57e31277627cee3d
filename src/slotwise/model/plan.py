"""The answer: a Plan says how many threads, on which machines, and which thread where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slotwise.model.allocation import Allocation
from slotwise.model.cluster import Cluster, Slot
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

    def __str__(self) -> str:
        told = (
            f"{self.pipeline.topology.name} at {self.rate:g} tuples/s by "
            f"{self.allocation.algorithm} + {self.placement.algorithm}: "
            f"{self.allocation.total_threads} threads in {self.slots} slots on "
            f"{self.machines} machine{'s'[: self.machines > 1]}"
        )
        return told if self.predicted is None else f"{told}, predicted {self.predicted.rate:,.1f}/s"

    def changes_from(self, before: Plan) -> tuple[str, ...]:
        """What another plan of the same pipeline would have to change to become this one."""
        then, now = before.threads, self.threads
        changes = [
            f"{name}: {then.get(name, 0)} → {now.get(name, 0)} threads"
            for name in {**then, **now}
            if then.get(name, 0) != now.get(name, 0)
        ]
        old_nodes = {node.name for node in before.cluster.nodes}
        new_nodes = {node.name for node in self.cluster.nodes}
        changes += [f"machine {name} is new" for name in sorted(new_nodes - old_nodes)]
        changes += [f"machine {name} is gone" for name in sorted(old_nodes - new_nodes)]
        old_places, new_places = before._places(), self._places()
        moved = sum(
            1
            for thread in old_places.keys() & new_places.keys()
            if old_places[thread] != new_places[thread]
        )
        return (*changes, f"{moved} thread{'s'[: moved != 1]} moved") if moved else tuple(changes)

    def _places(self) -> dict[tuple[str, int], Slot]:
        """(operator, number of its thread) -> where it is."""
        slots = self.placement.slots.tolist()
        first = self.allocation.first_thread.tolist()
        return {
            (entry.operator, thread): self.cluster.slot(slots[first[position] + thread])
            for position, entry in enumerate(self.allocation)
            for thread in range(entry.threads)
        }

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
