"""What observations teach of the operators: profiles and selectivities kept current by a run.

What is measured is compared with what the plan's own profiles say of the plan, on its machines and
with as many threads per slot as it has; the profiles are corrected by the difference. So the same
rule holds for all forms of profiles, and for nodes of unequal speed. What is not measured (None)
stays as it is, and so do fixed loads.

In a slot that is short of CPU threads wait for it. There the time that is measured is not their
own: it is what the CPU that they took takes, by the part of a thread's time that it computes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Observation, Pipeline, Plan, Profiles, ThreadTable
from slotwise.prediction.groups import Groups, groups_of, shares_by_weight
from slotwise.prediction.overheads import overheads_of
from slotwise.prediction.rate import own_shares, stream_shares
from slotwise.rates import arrival_rates, sent_per_tuple
from slotwise.work import Correction, OwnWork

Floats = NDArray[np.float64]
LEAST_TUPLES = 30
"""Of fewer, a mean says too little."""
FULL_SLOT = 0.97
"""A slot that uses so much of its CPU lets its threads wait for it."""
LEAST_OWN = 0.1
"""So much of what a profile says is left at least, however dear hops are believed to be."""
SMOOTHING = 0.8


@dataclass(frozen=True)
class Lesson:
    """What was measured of one operator, beside what its profile says of this plan."""

    operator: str
    service_ms: float
    """As measured."""
    believed_ms: float
    """As in the profile."""
    correction: Correction


@dataclass(frozen=True)
class Learned:
    """What a run shows of a pipeline."""

    lessons: Mapping[str, Lesson]
    """By operator; those of which too little was seen are not among them."""
    profiles: Profiles
    selectivities: tuple[float, ...]
    """Per stream of the topology, as measured, or as given where that is not known."""

    def of(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline as it is measured to be. To plan with: a plan that is given to a deployment
        has the topology as it was.
        """
        topology = pipeline.topology
        streams = tuple(
            replace(stream, selectivity=measured)
            for stream, measured in zip(topology.streams, self.selectivities, strict=True)
        )
        return replace(
            pipeline, topology=replace(topology, streams=streams), profiles=self.profiles
        )


def learned(
    plan: Plan, observations: Sequence[Observation], smoothing: float = SMOOTHING
) -> Learned:
    """What the observations of this plan, newest last, teach.

    Means are over tuples; in each window a tuple counts `smoothing` times what it counts in the
    next one (paper 5's α-weighted averaging): 1 is the plain mean, 0 only the newest window.
    O(windows × (operators + streams + slots) + threads log threads); with a platform see
    `Overheads.charged`.
    """
    seen = _Seen(plan, observations, smoothing)
    believed, pipeline = _Believed.of(plan), plan.pipeline
    sent = sent_per_tuple(pipeline.topology, plan.placement.threads).tolist()
    lessons, profiles = {}, dict(pipeline.profiles.by_operator)
    for position, operator in enumerate(pipeline.topology.operators):
        work = seen.work(position)
        if work is None or pipeline.profiles.fixed(operator.name) is not None:
            continue
        lesson = believed.lesson(operator.name, position, work, seen)
        lessons[operator.name] = lesson
        profiles[operator.name] = lesson.correction.of(
            pipeline.profiles, operator.name, sent[position]
        )
    return Learned(
        lessons,
        replace(pipeline.profiles, by_operator=profiles),
        tuple(map(seen.selectivity, range(len(pipeline.topology.streams)))),
    )


class _Seen:
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

    @cached_property
    def full(self) -> NDArray[np.bool_]:
        """Per slot, whether its threads wait for CPU."""
        slots = [
            _mean(
                [seen.slots[slot].cpu if seen.slots else None for seen in self.observations],
                self.weights,
                least=0.0,
            )
            for slot in range(self.plan.cluster.slots)
        ]
        return np.array([cpu is not None and cpu >= FULL_SLOT for cpu in slots])

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


@dataclass(frozen=True)
class _PerTuple:
    """Per operator, in the mean over its tuples: thread time, and slots of CPU per tuple/s."""

    time_s: Floats
    cpu_s: Floats

    @staticmethod
    def of(groups: Groups, shares: Floats) -> _PerTuple:
        peak = np.where(groups.fixed, np.inf, groups.peak)
        return _PerTuple(
            groups.per_operator(shares * groups.threads / peak),
            groups.per_operator(shares * groups.cpu / peak),
        )

    def time_of(self, operator: int, cpu_s: float) -> float:
        """How long a thread takes for what needs so much CPU, if it need not wait for that."""
        if self.cpu_s[operator] <= 0:
            return math.inf
        return float(cpu_s * self.time_s[operator] / self.cpu_s[operator])


def _each_alone(plan: Plan, groups: Groups) -> Groups:
    """A table knows how threads in a slot slow one another down. The other forms are of one thread:
    it is as fast beside others, unless the slot is short of CPU, which is told by its load.
    """
    profiles, peak = plan.pipeline.profiles, groups.peak.copy()
    speed = plan.cluster.slot_cpu[groups.slot]
    for position, operator in enumerate(plan.pipeline.topology.operators):
        if profiles.fixed(operator.name) or not profiles.derived(operator.name, ThreadTable):
            continue
        here = groups.of_operator(position)
        rate = profiles.table(operator.name).rows[0].rate
        peak[here] = groups.threads[here] * rate * speed[here]
    gain = np.divide(peak, groups.peak, out=np.ones(len(peak)), where=~groups.fixed)
    return replace(groups, peak=peak, cpu=groups.cpu * gain)


@dataclass(frozen=True)
class _Believed:
    """What the plan's profiles say of the plan."""

    groups: Groups
    shares: Floats
    cores: Floats
    """Per operator, of the slot in which its profile counts."""
    profile: _PerTuple
    """As the profiles have it: where they were measured by experiment, with hops."""
    own: _PerTuple
    charged: _PerTuple
    """With the hops of this plan."""

    @staticmethod
    def of(plan: Plan) -> _Believed:
        pipeline, cluster, topology = plan.pipeline, plan.cluster, plan.pipeline.topology
        groups = _each_alone(plan, groups_of(pipeline, cluster, plan.placement))
        unit = arrival_rates(topology, 1.0, plan.placement.threads)
        by_weight = shares_by_weight(groups, plan, cluster.slots)
        shares = own_shares(groups, topology, unit, by_weight)
        overheads = overheads_of(pipeline, cluster, groups, unit)
        charged = overheads.charged(shares, stream_shares(groups, topology, by_weight))
        cores = [
            (measured.cores if (measured := pipeline.profiles.measurement(o.name)) else None)
            or pipeline.platform.cores
            for o in topology.operators
        ]
        return _Believed(
            groups,
            shares,
            np.array(cores),
            *(_PerTuple.of(each, shares) for each in (groups, overheads.own, charged)),
        )

    def lesson(self, name: str, position: int, work: OwnWork, seen: _Seen) -> Lesson:
        """A simulated time has the hops in it, one that was measured on Spark has not."""
        beside = self.charged if seen.simulated else self.own
        cpu_s = work.cpu_s
        if cpu_s is not None and not seen.simulated:
            cpu_s /= float(self.cores[position])
        time_s = work.service_s
        if cpu_s is not None and self._waits_for_cpu(position, seen):
            time_s = min(time_s, beside.time_of(position, cpu_s))
        correction = Correction(
            self._factor("time_s", position, time_s, beside),
            self._factor("cpu_s", position, cpu_s, beside),
            None if work.service_scv is None else round(work.service_scv, 9),
        )
        believed_ms = 1000 * float(beside.time_s[position])
        return Lesson(name, 1000 * work.service_s, believed_ms, correction)

    def _waits_for_cpu(self, position: int, seen: _Seen) -> bool:
        """Most of the operator's tuples are handled in slots that are short of CPU."""
        here = self.groups.of_operator(position)
        return float(self.shares[here] @ seen.full[self.groups.slot[here]]) > 0.5

    def _factor(self, what: str, position: int, measured: float | None, beside: _PerTuple) -> float:
        """The profile's figure grows by what the operator's own work takes more than believed."""
        in_profile = float(getattr(self.profile, what)[position])
        believed = float(getattr(beside, what)[position])
        if measured is None or in_profile <= 0:
            return 1.0
        return max(in_profile + measured - believed, LEAST_OWN * in_profile) / in_profile
