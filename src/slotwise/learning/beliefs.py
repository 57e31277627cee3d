"""What a plan's profiles say of the plan, and by how much a run shows something else.

A measured time is the operator's own work where its threads need not wait for CPU. In a slot that
is short of CPU they do, and the profile is taken by its word in one thing, the part of a thread's
time in which it computes: the time is what the CPU that was measured takes at that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slotwise.learning.seen import Seen
from slotwise.learning.work import Correction, OwnWork
from slotwise.model import Pipeline, Plan, ThreadTable
from slotwise.model.profiles import MOST_THREADS_PER_SLOT
from slotwise.prediction.groups import Groups, groups_of, shares_by_weight, summed
from slotwise.prediction.overheads import overheads_of
from slotwise.prediction.rate import cpu_need, own_shares, stream_shares
from slotwise.rates import arrival_rates

Floats = NDArray[np.float64]
FULL = 0.97
"""Threads in a slot that is asked for so much of its CPU wait for it."""
LEAST_OWN = 0.1
"""So much of what a profile says is left at least, however dear hops are believed to be."""


@dataclass(frozen=True)
class PerTuple:
    """Per operator, in the mean over its tuples: a thread's time, and seconds of its slot's CPU."""

    time_s: Floats
    cpu_s: Floats

    @staticmethod
    def of(groups: Groups, shares: Floats) -> PerTuple:
        peak = np.where(groups.fixed, np.inf, groups.peak)
        return PerTuple(
            groups.per_operator(shares * groups.threads / peak),
            groups.per_operator(shares * groups.cpu / peak),
        )

    def time_of(self, operator: int, cpu_s: float) -> float:
        """How long a thread takes for what needs so much CPU, if it need not wait for that."""
        if self.cpu_s[operator] <= 0:
            return math.inf
        return float(cpu_s * self.time_s[operator] / self.cpu_s[operator])


@dataclass(frozen=True)
class Beliefs:
    """What the plan's profiles say of the plan."""

    plan: Plan
    groups: Groups
    shares: Floats
    """Each group's part of its operator's tuples."""
    profile: PerTuple
    """As the profiles have it: where they were measured by experiment, with hops."""
    own: PerTuple
    charged: PerTuple
    """With the hops of this plan."""

    @staticmethod
    def of(plan: Plan) -> Beliefs:
        pipeline, cluster, topology = plan.pipeline, plan.cluster, plan.pipeline.topology
        groups = _each_alone(plan, groups_of(pipeline, cluster, plan.placement))
        unit = arrival_rates(topology, 1.0, plan.placement.threads)
        by_weight = shares_by_weight(groups, plan, cluster.slots)
        shares = own_shares(groups, topology, unit, by_weight)
        overheads = overheads_of(pipeline, cluster, groups, unit)
        charged = overheads.charged(shares, stream_shares(groups, topology, by_weight))
        three = (PerTuple.of(each, shares) for each in (groups, overheads.own, charged))
        return Beliefs(plan, groups, shares, *three)

    def as_timed(self, seen: Seen) -> PerTuple:
        """A simulated time has the hops in it, one that was measured on Spark has not."""
        return self.charged if seen.simulated else self.own

    def time_ms(self, operator: str, seen: Seen) -> float:
        """Of a tuple, as a run would time it."""
        position = self.plan.pipeline.topology.index[operator]
        return 1000 * float(self.as_timed(seen).time_s[position])

    def corrections(self, works: Mapping[str, OwnWork], seen: Seen) -> dict[str, Correction]:
        """For the operators of which that was measured."""
        index = self.plan.pipeline.topology.index
        cpu_s = {
            index[name]: _in_slots(self.plan.pipeline, name, work, seen)
            for name, work in works.items()
        }
        full = self._full(cpu_s, seen)
        return {
            name: self._correction(index[name], work, cpu_s[index[name]], full, seen)
            for name, work in works.items()
        }

    def _correction(
        self,
        position: int,
        work: OwnWork,
        cpu_s: float | None,
        full: NDArray[np.bool_],
        seen: Seen,
    ) -> Correction:
        timed, time_s = self.as_timed(seen), work.service_s
        here = self.groups.of_operator(position)
        together = float(self.shares[here] @ self.groups.threads[here])
        waiting = float(self.shares[here] @ full[self.groups.slot[here]]) > 0.5
        if cpu_s is not None and (waiting or together * cpu_s > FULL * time_s):
            time_s = min(time_s, timed.time_of(position, cpu_s))
        return Correction(
            self._factor("time_s", position, time_s, timed),
            self._factor("cpu_s", position, cpu_s, timed),
            None if work.service_scv is None else round(work.service_scv, 9),
        )

    def _full(self, cpu_s: Mapping[int, float | None], seen: Seen) -> NDArray[np.bool_]:
        """Per slot, whether it is short of CPU: by what it uses, or by what its threads would use
        for all that is offered, at the CPU per tuple that was measured.
        """
        cluster, groups = self.plan.cluster, self.groups
        topology, threads = self.plan.pipeline.topology, self.plan.placement.threads
        rates = arrival_rates(topology, max(seen.offered_rate, 1e-9), threads)
        each_s = self.as_timed(seen).cpu_s.copy()
        for position, measured in cpu_s.items():
            if measured is not None:
                each_s[position] = measured
        arriving = rates.operators[groups.operator] * self.shares
        _, always = cpu_need(groups, arriving, cluster.slots)
        asked = always + summed(arriving * each_s[groups.operator], groups.slot, cluster.slots)
        used = np.array([cpu or 0.0 for cpu in seen.slot_cpu])
        return np.asarray(np.maximum(used, asked / cluster.slot_cpu) >= FULL)

    def _factor(self, what: str, position: int, measured: float | None, timed: PerTuple) -> float:
        """The profile's figure grows by what the operator's own work takes more than believed."""
        in_profile = float(getattr(self.profile, what)[position])
        believed = float(getattr(timed, what)[position])
        if measured is None or in_profile <= 0:
            return 1.0
        return max(in_profile + measured - believed, LEAST_OWN * in_profile) / in_profile


def _in_slots(pipeline: Pipeline, operator: str, work: OwnWork, seen: Seen) -> float | None:
    """Its CPU for a tuple in seconds of a reference slot, which a simulation counts in."""
    if work.cpu_s is None or seen.simulated:
        return work.cpu_s
    measurement = pipeline.profiles.measurement(operator)
    return work.cpu_s / ((measurement.cores if measurement else None) or pipeline.platform.cores)


def _each_alone(plan: Plan, groups: Groups) -> Groups:
    """A table knows how threads in a slot slow one another down. The other forms are of one thread:
    it is as fast beside others, unless memory is short, or CPU, as the slot's load shows.
    """
    profiles, peak = plan.pipeline.profiles, groups.peak.copy()
    speed = plan.cluster.slot_cpu[groups.slot]
    for position, operator in enumerate(plan.pipeline.topology.operators):
        if profiles.fixed(operator.name) or not profiles.derived(operator.name, ThreadTable):
            continue
        here, one = groups.of_operator(position), profiles.table(operator.name).rows[0]
        room = math.floor(1 / one.mem + 1e-9) if one.mem > 0 else MOST_THREADS_PER_SLOT
        most = min(max(1, room), MOST_THREADS_PER_SLOT)
        peak[here] = np.minimum(groups.threads[here], most) * one.rate * speed[here]
    gain = np.divide(peak, groups.peak, out=np.ones(len(peak)), where=~groups.fixed)
    return replace(groups, peak=peak, cpu=groups.cpu * gain)
