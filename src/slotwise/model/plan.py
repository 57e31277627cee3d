"""The answer: a Plan says how many threads, on which machines, and which thread where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slotwise.model.allocation import Allocation
from slotwise.model.cluster import Cluster, Slot
from slotwise.model.goals import Verdict, confirmed_by
from slotwise.model.observation import Observation, Prediction
from slotwise.model.pipeline import Pipeline
from slotwise.model.placement import Placement
from slotwise.model.topology import GroupingKind, Stream
from slotwise.model.words import counted

EQUAL_WEIGHTS = 1e-9
"""Weights that differ by no more than this part are the same."""


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
    simulated: Observation | None = None
    """The plan at its rate in a short simulation: the figures of the whole pipeline."""
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Why its predictions may be off: profiles were measured on another machine."""

    @property
    def threads(self) -> dict[str, int]:
        return {entry.operator: entry.threads for entry in self.allocation}

    @property
    def machines(self) -> int:
        return len(self.cluster.nodes)

    @property
    def cost_per_hour(self) -> float:
        return self.cluster.price_per_hour

    def routing(self, stream: Stream) -> GroupingKind:
        """How the stream's tuples choose a thread: its grouping, where `auto` is `weighted` if the
        threads of the target have different weights, and else `shuffle`.
        """
        if stream.grouping.kind != "auto":
            return stream.grouping.kind
        weights = self.weights.get(stream.target, ())
        equal = not weights or max(weights) - min(weights) <= EQUAL_WEIGHTS * max(weights)
        return "shuffle" if equal else "weighted"

    def threads_in_slots(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """Per slot of the cluster, how many threads of which operators are in it."""
        found: list[list[tuple[str, int]]] = [[] for _ in range(self.cluster.slots)]
        for operator, slot, threads in zip(
            *map(np.ndarray.tolist, self.placement.groups), strict=True
        ):
            found[slot].append((self.allocation.operators[operator].operator, threads))
        return tuple(map(tuple, found))

    def __str__(self) -> str:
        text = (
            f"{self.pipeline.topology.name} at {self.rate:g} tuples/s by "
            f"{self.allocation.algorithm} + {self.placement.algorithm}: "
            f"{counted(self.allocation.total_threads, 'thread')} in "
            f"{counted(self.slots, 'slot')} on {counted(self.machines, 'machine')}"
        )
        return (
            text
            if self.predicted is None
            else f"{text}, predicted capacity {self.predicted.capacity:,.1f}/s"
        )

    def changes_from(self, before: Plan) -> tuple[str, ...]:
        """What another plan of the same pipeline would have to change to become this one."""
        then, now = before.threads, self.threads
        changes = [
            f"{name}: {then.get(name, 0)} → {counted(now.get(name, 0), 'thread')}"
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
        return (*changes, f"{counted(moved, 'thread')} moved") if moved else tuple(changes)

    def _places(self) -> dict[tuple[str, int], Slot]:
        """(operator, number of its thread) -> where it is."""
        slots = self.placement.slots.tolist()
        first = self.allocation.first_thread.tolist()
        return {
            (entry.operator, thread): self.cluster.slot(slots[first[position] + thread])
            for position, entry in enumerate(self.allocation)
            for thread in range(entry.threads)
        }

    def judged(self, seen: Observation | None = None) -> tuple[Verdict, ...]:
        """The pipeline's goals against what was `seen`: by default, against what is predicted and
        simulated; see `confirmed_by`.
        """
        goals = self.pipeline.goals
        if seen is not None or self.predicted is None:
            return () if seen is None else goals.judge(seen)
        predicted = goals.judge(self.predicted)
        if self.simulated is None:
            return predicted
        return confirmed_by(predicted, goals.judge(self.simulated))

    def _repr_html_(self) -> str:
        """Notebooks show this."""
        from slotwise.report.html import plan_html

        return plan_html(self)
