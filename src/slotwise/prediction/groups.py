"""The threads of one operator in one slot: the unit whose capacity the profiles know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slotwise.keys import NUMBER, keys_of_threads
from slotwise.model import Cluster, Pipeline, Placement, Plan, Topology
from slotwise.rates import sent_per_tuple

if TYPE_CHECKING:
    from slotwise.prediction.buffers import Buffers

Floats = NDArray[np.float64]
_AT_PEAK = ("peak", "cpu", "mem", "always_cpu", "always_mem", "waiting_cpu")
"""What a part of a group's threads has its part of."""


def summed(values: Floats, by: NDArray[np.int64], size: int = 0) -> Floats:
    """`values` added up by their label in `by`, for labels 0 to `size` - 1 and beyond."""
    return np.asarray(np.bincount(by, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True)
class Groups:
    """Parallel arrays, one entry per operator and slot it uses, ordered by operator.

    `peak` is the model's rate at that thread count on that node, infinite where threads take no
    time (a fixed load); `cpu` and `mem` are what the group takes at its peak, in reference slots,
    `always_cpu` and `always_mem` what it takes at any rate, `waiting_cpu` what it takes beside that
    as far as its threads wait for tuples. Each slot in use takes `idle_cpu` and
    `idle_mem` beside its groups; and for buffers what `buffers` says at each input rate, or, once
    a rate is chosen (`at`), `buffers_cpu` [slot]. `leads` marks thread 0 of an operator that
    `global` grouping feeds: it is a group of its own, since it gets more. `alone` is the part of
    its time at the peak that a tuple takes of a thread that is alone in its slot, where an
    experiment measured both; NaN where nothing is known of that. `keyed` is the group's
    part of the tuples of a `fields` stream, `keyed_most` what that would be if all its threads had
    as many keys as the one with most.
    """

    operator: NDArray[np.int64]
    slot: NDArray[np.int64]
    threads: NDArray[np.int64]
    peak: Floats
    cpu: Floats
    mem: Floats
    leads: NDArray[np.bool_]
    alone: Floats
    keyed: Floats
    keyed_most: Floats
    always_cpu: Floats
    always_mem: Floats
    waiting_cpu: Floats
    operators: int
    idle_cpu: float = 0.0
    idle_mem: float = 0.0
    buffers: Buffers | None = None
    buffers_cpu: Floats | None = None

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

    def of_threads(self, placement: Placement) -> NDArray[np.int64]:
        """Per thread its group."""
        width = 1 + int(placement.slots.max())
        wanted = placement.thread_operator * width + placement.slots
        found = np.searchsorted(self.operator * width + self.slot, wanted, side="right") - 1
        first_thread = np.concatenate(([0], np.cumsum(placement.threads)))
        leading = np.flatnonzero(self.leads)
        found[first_thread[self.operator[leading]]] = leading
        return found

    def at(self, rate: float) -> Groups:
        """The groups with what slots take for buffers at the input rate `rate`, at any rate."""
        if self.buffers is None:
            return self
        return replace(self, buffers=None, buffers_cpu=self.buffers.cpu(rate))

    def beside_cpu(self, slots: int) -> Floats:
        """Per slot, CPU that it takes beside its groups at any rate."""
        idle = self.idle(self.idle_cpu, slots)
        return idle if self.buffers_cpu is None else idle + self.buffers_cpu

    def idle(self, each: float, slots: int) -> Floats:
        """`each` for every slot in use."""
        used = np.zeros(slots)
        used[self.slot] = each
        return used

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
    alone = np.full(len(operator), np.nan)
    always, waiting = np.zeros((2, len(operator))), np.zeros(len(operator))
    speed = cluster.slot_cpu[slot]
    bounds = np.searchsorted(operator, np.arange(len(placement.threads) + 1))
    sent = sent_per_tuple(pipeline.topology, placement.threads)
    for position, each in enumerate(pipeline.topology.operators):
        here = slice(bounds[position], bounds[position + 1])
        if (fixed := pipeline.profiles.fixed(each.name)) is not None:
            part = threads[here] / fixed.threads
            figures[0, here] = np.inf
            always[:, here] = fixed.cpu * part, fixed.mem * part
        else:
            table = pipeline.profiles.table(each.name, float(sent[position]))
            rate, core, memory = table.figures(threads[here].astype(np.float64))
            figures[:, here] = rate * speed[here], core * speed[here], memory
            measurement = pipeline.profiles.measurement(each.name)
            if measurement is not None and measurement.source == "experiment":
                alone[here] = np.minimum(rate / (threads[here] * table.at(1).rate), 1.0)
    platform, profiles = pipeline.platform, pipeline.profiles
    always[0] += threads * (platform.thread_cpu - platform.polling_cpu) / platform.cores
    waiting += threads * platform.polling_cpu / platform.cores
    leads = np.zeros(len(operator), dtype=np.bool_)
    unkeyed = np.zeros(len(operator))
    peak, cpu, mem = figures
    groups = Groups(
        operator=operator,
        slot=slot,
        threads=threads,
        peak=peak,
        cpu=cpu,
        mem=mem,
        leads=leads,
        alone=alone,
        keyed=unkeyed,
        keyed_most=unkeyed,
        always_cpu=always[0],
        always_mem=always[1],
        waiting_cpu=waiting,
        operators=len(placement.threads),
        idle_cpu=platform.slot_cpu / platform.cores,
        idle_mem=platform.slot_memory_mb / profiles.slot_memory_mb,
    )
    for position, inputs in enumerate(pipeline.topology.inputs):
        if any(pipeline.topology.streams[s].grouping.kind == "global" for s in inputs):
            first_thread = sum(placement.threads[:position])
            groups = _with_leader(groups, position, int(placement.slots[first_thread]))
    return _with_keys(groups, pipeline.topology, placement)


def thread_keys(topology: Topology, placement: Placement) -> NDArray[np.int64]:
    """Per thread, how many of the keys it gets; 0 where no `fields` stream enters its operator."""
    return np.concatenate(
        [
            keys_of_threads(threads)
            if any(topology.streams[stream].grouping.kind == "fields" for stream in inputs)
            else np.zeros(threads, dtype=np.int64)
            for threads, inputs in zip(placement.threads, topology.inputs, strict=True)
        ]
    )


def _with_keys(groups: Groups, topology: Topology, placement: Placement) -> Groups:
    keys, group = thread_keys(topology, placement), groups.of_threads(placement)
    most = np.zeros(len(groups.threads), dtype=np.int64)
    np.maximum.at(most, group, keys)
    keyed = summed(keys / NUMBER, group, len(groups.threads))
    return replace(groups, keyed=keyed, keyed_most=most * groups.threads / NUMBER)


def shares_by_weight(groups: Groups, plan: Plan, slots: int) -> Floats:
    """Each group's part of its operator's tuples under the plan's weights."""
    placement = plan.placement
    per_thread = np.concatenate([plan.weights[o.name] for o in plan.pipeline.topology.operators])
    keys, at = np.unique(placement.thread_operator * slots + placement.slots, return_inverse=True)
    per_slot = summed(per_thread, at) / summed(np.ones(len(at)), at)
    mine = np.searchsorted(keys, groups.operator * slots + groups.slot)
    return np.asarray(per_slot[mine] * groups.threads, dtype=np.float64)


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
    unkeyed = np.zeros(len(threads) + 1)
    figures: dict[str, Any] = {name: split(getattr(groups, name), one) for name in _AT_PEAK}
    whole = replace(
        groups,
        operator=np.insert(groups.operator, at, operator),
        slot=np.insert(groups.slot, at, slot),
        threads=np.insert(threads, at, 1),
        leads=np.insert(groups.leads, at, True),
        alone=np.insert(groups.alone, at, groups.alone[at]),
        keyed=unkeyed,
        keyed_most=unkeyed,
        **figures,
    )
    return _without_empty(whole)


def _without_empty(groups: Groups) -> Groups:
    kept = groups.threads > 0
    arrays = [name for name, value in vars(groups).items() if isinstance(value, np.ndarray)]
    return replace(groups, **{name: getattr(groups, name)[kept] for name in arrays})
