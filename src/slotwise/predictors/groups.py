"""The threads of one operator in one slot: the unit whose capacity the profiles know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Pipeline, Placement

Floats = NDArray[np.float64]


def summed(values: Floats, by: NDArray[np.int64], size: int = 0) -> Floats:
    """`values` added up by their label in `by`, for labels 0 to `size` - 1 and beyond."""
    return np.asarray(np.bincount(by, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True)
class Groups:
    """Parallel arrays, one entry per operator and slot it uses, ordered by operator.

    `peak` is the model's rate at that thread count on that node, infinite for a fixed load; `cpu`
    and `mem` are what the group takes at its peak, in reference slots. `leads` marks thread 0 of
    an operator that `global` grouping feeds: it is a group of its own, since it gets more.
    """

    operator: NDArray[np.int64]
    slot: NDArray[np.int64]
    threads: NDArray[np.int64]
    peak: Floats
    cpu: Floats
    mem: Floats
    leads: NDArray[np.bool_]
    operators: int

    @property
    def fixed(self) -> NDArray[np.bool_]:
        return np.isinf(self.peak)

    @property
    def operator_threads(self) -> Floats:
        return self.per_operator(self.threads.astype(np.float64))

    def of_operator(self, position: int) -> slice:
        start, stop = np.searchsorted(self.operator, [position, position + 1])
        return slice(int(start), int(stop))

    def per_operator(self, values: Floats) -> Floats:
        """`values` summed by operator."""
        return summed(values, self.operator, self.operators)

    def per_slot(self, values: Floats, slots: int) -> Floats:
        """`values` summed by slot."""
        return summed(values, self.slot, slots)

    def even_shares(self) -> Floats:
        """Each group's part of its operator's tuples if every thread gets the same."""
        return self.threads / self.operator_threads[self.operator]

    def shares_of(self, capacity: Floats) -> Floats:
        """Each group's part if tuples go by `capacity`; fixed loads, which have none, evenly."""
        known = np.where(self.fixed, self.threads, capacity)
        total = self.per_operator(known)[self.operator]
        return np.divide(known, total, out=self.even_shares(), where=total > 0)


def groups_of(pipeline: Pipeline, cluster: Cluster, placement: Placement) -> Groups:
    """O(threads log threads), for the grouping; profiles are read once per operator."""
    operator, slot, threads = placement.groups
    figures = np.zeros((3, len(operator)))
    speed = cluster.slot_cpu[slot]
    bounds = np.searchsorted(operator, np.arange(len(placement.threads) + 1))
    for position, each in enumerate(pipeline.topology.operators):
        here = slice(bounds[position], bounds[position + 1])
        if (fixed := pipeline.profiles.fixed(each.name)) is not None:
            part = threads[here] / fixed.threads
            figures[0, here] = np.inf
            figures[1:, here] = fixed.cpu * part, fixed.mem * part
        else:
            rate, core, memory = pipeline.profiles.table(each.name).figures(
                threads[here].astype(np.float64)
            )
            figures[:, here] = rate * speed[here], core * speed[here], memory
    leads = np.zeros(len(operator), dtype=np.bool_)
    peak, cpu, mem = figures
    groups = Groups(operator, slot, threads, peak, cpu, mem, leads, len(placement.threads))
    for position, inputs in enumerate(pipeline.topology.inputs):
        if any(pipeline.topology.streams[s].grouping.kind == "global" for s in inputs):
            first_thread = sum(placement.threads[:position])
            groups = _with_leader(groups, position, int(placement.slots[first_thread]))
    return groups


def _with_leader(groups: Groups, operator: int, slot: int) -> Groups:
    """One thread of `operator` in `slot` taken out of its group, with its part of the figures."""
    here = groups.of_operator(operator)
    at = here.start + int(np.flatnonzero(groups.slot[here] == slot)[0])
    one = 1 / groups.threads[at]

    def split(values: Floats, part: float) -> Floats:
        rest = values.copy()
        rest[at] = values[at] if np.isinf(values[at]) else values[at] * (1 - part)
        own = values[at] if np.isinf(values[at]) else values[at] * part
        return np.insert(rest, at, own)

    threads = groups.threads.copy()
    threads[at] -= 1
    leads = np.insert(groups.leads, at, True)
    whole = Groups(
        np.insert(groups.operator, at, operator),
        np.insert(groups.slot, at, slot),
        np.insert(threads, at, 1),
        split(groups.peak, one),
        split(groups.cpu, one),
        split(groups.mem, one),
        leads,
        groups.operators,
    )
    return _without_empty(whole)


def _without_empty(groups: Groups) -> Groups:
    kept = groups.threads > 0
    return Groups(
        groups.operator[kept],
        groups.slot[kept],
        groups.threads[kept],
        groups.peak[kept],
        groups.cpu[kept],
        groups.mem[kept],
        groups.leads[kept],
        groups.operators,
    )
