"""What a tuple costs beside its operator's own work: hops, meters, source and sink.

Thread time and CPU for each tuple that is sent or received, by how far it goes. They come from the
platform where it is known (model.Platform), else from P-Deployer's c_t (paper 3): CPU for each
tuple that is sent to, or received from, another node. A platform that knows hops between nodes
stands in for c_t: both are the same thing.

Buffers cost CPU of the slots at both ends, beside their threads (prediction.buffers).

A profile that was measured by an experiment includes hops between slots of a node, both ways, the
meters, and what threads take without tuples. They are taken off first (`own`), then what the tuples
really do is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Cluster, Operator, Pipeline, Platform
from slotwise.prediction.buffers import BufferCosts, buffers_of
from slotwise.prediction.groups import Floats, Groups, summed
from slotwise.rates import ArrivalRates, sent_per_tuple

LEAST_OWN = 0.1
"""The part of a measured time, or CPU, that is the operator's own at least, however dear hops are:
of an operator that does next to nothing, hops are known no better than this."""
FULL_SLOT = 0.95
"""Where an experiment's slot was as full as this, CPU was what held the threads up."""
_FAR = np.array([0, 1, 2, 2])
"""By distance (slot, node, rack, elsewhere), which of a platform's hops it is."""


@dataclass(frozen=True)
class Overheads:
    """What the tuples of a placement cost beside the operators' own work.

    `send` and `receive` [group, distance] are seconds of a core for each tuple, by distance as in
    NetworkDelays; `visit` [group] for each that a group handles.
    """

    pipeline: Pipeline
    cluster: Cluster
    unit: ArrivalRates
    own: Groups
    """The groups with their operators' own work only."""
    send: Floats
    receive: Floats
    visit: Floats
    speed: Floats
    """[group]: seconds of a core that a thread gets done in a second."""
    cores: Floats
    """[group]: cores of the slot in which its CPU counts."""
    buffers: BufferCosts | None = None
    """None: they cost nothing."""

    @property
    def any(self) -> bool:
        return bool(self.send.any() or self.receive.any() or self.visit.any())

    def charged(self, shares: Floats, receiving: Sequence[Floats] | None = None) -> Groups:
        """The groups with all that their tuples cost: other peak rates and CPU; memory per tuple
        stays. `shares` is each group's part of its operator's tuples; `receiving` that of each
        stream's tuples for the groups of its target, if they are not the same.

        O(streams × (nodes + groups)), with a platform O(streams × (slots + groups)), with buffers
        as `buffers_of`.
        """
        groups = self._with_tuples(shares)
        if self.buffers is None:
            return groups
        topology, unit = self.pipeline.topology, self.unit
        if receiving is None:
            receiving = [shares[groups.of_operator(target)] for _, target in topology.edges]
        platform, cluster, costs = self.pipeline.platform, self.cluster, self.buffers
        buffers = buffers_of(platform, topology, cluster, groups, costs, unit, shares, receiving)
        return replace(groups, buffers=buffers)

    def _with_tuples(self, shares: Floats) -> Groups:
        own = self.own
        if not self.any:
            return own
        added = self._core_seconds(shares)
        added_s, added_cpu = added / self.speed, added / self.cores
        own_s = np.where(own.fixed, 0.0, own.threads / own.peak)
        part = np.where(own.fixed, 1.0, own_s / np.maximum(own_s + added_s, 1e-300))
        timed = own.fixed & (added_s > 0)
        peak = np.divide(own.threads, added_s, out=own.peak * part, where=timed)
        per_s = np.where(np.isinf(peak), 0.0, peak)
        return replace(own, peak=peak, cpu=own.cpu * part + added_cpu * per_s, mem=own.mem * part)

    def _core_seconds(self, shares: Floats) -> Floats:
        """Per group, for each tuple that it handles."""
        by_slot = any(
            not np.array_equal(costs[:, 0], costs[:, 1]) for costs in (self.send, self.receive)
        )
        sent, received = _tuples_by_distance(
            self.pipeline, self.cluster, self.own, self.unit, shares, by_slot
        )
        if self.receive is self.send:
            return np.asarray((self.send * (sent + received)).sum(axis=1) + self.visit)
        return np.asarray((self.send * sent + self.receive * received).sum(axis=1) + self.visit)


def overheads_of(
    pipeline: Pipeline, cluster: Cluster, groups: Groups, unit: ArrivalRates
) -> Overheads:
    """`groups` are as the profiles have them, `unit` the rates at an input rate of 1."""
    speed = cluster.slot_cpu[groups.slot]
    if pipeline.platform != Platform():
        return _platform_overheads(pipeline, cluster, groups, unit, speed)
    operators = pipeline.topology.operators
    transfer = np.array([pipeline.profiles.transfer_cpu(each.name) for each in operators])
    crossing = np.multiply.outer(transfer[groups.operator], np.arange(4) >= 2)
    none, one = np.zeros(len(speed)), np.ones(len(speed))
    return Overheads(pipeline, cluster, unit, groups, crossing, crossing, none, speed, one)


def _platform_overheads(
    pipeline: Pipeline, cluster: Cluster, groups: Groups, unit: ArrivalRates, speed: Floats
) -> Overheads:
    costs = [_Costs.of(pipeline, operator) for operator in pipeline.topology.operators]
    send, receive, visit, cores, measured = (
        np.array([getattr(each, field.name) for each in costs])[groups.operator]
        for field in fields(_Costs)
    )
    measured &= ~groups.fixed
    # A thread is as fast as its core. In a measured slot that was full, it waited for CPU as well.
    full = measured & (groups.cpu >= FULL_SLOT * speed * (1 - groups.idle_cpu))
    speed = np.where(full, np.minimum(speed, groups.cpu * cores / groups.threads), speed)
    groups = _without_idle_threads(groups, pipeline.platform, measured)
    included = receive[:, 1] + _sent_per_tuple(pipeline, unit)[groups.operator] * send[:, 1]
    buffers = _measured_buffers(pipeline, cluster, groups)
    cpu = np.where(measured, included + buffers, 0.0)
    # What network threads took held the others up only where CPU was short.
    time = np.where(measured, included + np.where(full, buffers, 0.0), 0.0)
    own, part = _own(groups, time, cpu, speed, cores)
    return Overheads(
        pipeline=pipeline,
        cluster=cluster,
        unit=unit,
        own=own,
        send=send * part[:, None],
        receive=receive * part[:, None],
        visit=np.where(measured, 0.0, visit),
        speed=speed,
        cores=cores,
        buffers=_buffer_costs(pipeline.platform, part / cores),
    )


def _without_idle_threads(
    groups: Groups, platform: Platform, measured: NDArray[np.bool_]
) -> Groups:
    """An experiment's CPU is above that of a slot with one thread and no tuples: what its threads
    took beside tuples while they were busy is in it, but for what that one took. It counts at any
    rate already (`always_cpu`).
    """
    busy = groups.threads * (platform.thread_cpu - platform.polling_cpu)
    included = (busy - platform.thread_cpu) / platform.cores
    left = np.maximum(groups.cpu - included, LEAST_OWN * groups.cpu)
    return replace(groups, cpu=np.where(measured, left, groups.cpu))


def _own(
    groups: Groups, time: Floats, cpu: Floats, speed: Floats, cores: Floats
) -> tuple[Groups, Floats]:
    """The groups without the core seconds per tuple that are included in their threads' `time` and
    in their `cpu`; and by which part hops are as dear as the platform has them: less where a
    measured figure would be less than its hops.
    """
    if not cpu.any():
        return groups, np.ones(len(cpu))
    measured_s, measured_cpu = _per_tuple(groups)
    part = np.minimum(_at_most(measured_s * speed, time), _at_most(measured_cpu * cores, cpu))
    own_s, own_cpu = measured_s - time * part / speed, measured_cpu - cpu * part / cores
    gain = np.divide(measured_s, own_s, out=np.ones(len(own_s)), where=time > 0)
    peak = groups.peak * gain
    worked = np.where(groups.fixed, 0.0, own_cpu * np.where(groups.fixed, 0.0, peak))
    return replace(groups, peak=peak, cpu=worked, mem=groups.mem * gain), part


def _at_most(measured: Floats, included: Floats) -> Floats:
    """The part of what is included that leaves LEAST_OWN of what was measured."""
    most = measured * (1 - LEAST_OWN)
    return np.divide(most, included, out=np.ones(len(most)), where=included > most)


def _measured_buffers(pipeline: Pipeline, cluster: Cluster, groups: Groups) -> Floats:
    """Per group, core seconds for each tuple that its slot took for buffers where it was measured
    alone at its peak rate, with one thread that sends to it and one that it sends to.
    """
    platform, hop = pipeline.platform, pipeline.platform.in_node
    if not hop.send_buffer_us and not hop.receive_buffer_us:
        return np.zeros(len(groups.peak))
    sent = sent_per_tuple(pipeline.topology, [1] * groups.operators)[groups.operator]
    peak = np.where(groups.fixed, 1.0, groups.peak)
    pair_rate = peak / cluster.slot_cpu[groups.slot] / groups.threads
    received_us = platform.buffers_per_s(pair_rate) * hop.receive_buffer_us
    sent_us = platform.buffers_per_s(pair_rate * sent) * hop.send_buffer_us
    return (received_us + sent_us) / pair_rate / 1e6


def _buffer_costs(platform: Platform, parts_per_core: Floats) -> BufferCosts | None:
    """`parts_per_core` [group]: reference slots in a core, where hops are as dear as they are."""
    send_us = [hop.send_buffer_us for hop in platform.hops]
    receive_us = [hop.receive_buffer_us for hop in platform.hops]
    if not any(send_us) and not any(receive_us):
        return None
    send, receive = (
        np.multiply.outer(parts_per_core, np.array(each) / 1e6) for each in (send_us, receive_us)
    )
    return BufferCosts(send, receive)


def _per_tuple(groups: Groups) -> tuple[Floats, Floats]:
    """A thread's time and the CPU for a tuple."""
    return (
        np.where(groups.fixed, 0.0, groups.threads / groups.peak),
        np.where(groups.fixed, 0.0, groups.cpu / groups.peak),
    )


@dataclass(frozen=True)
class _Costs:
    """An operator's overheads, in seconds of a core for each tuple; by distance."""

    send: Floats
    receive: Floats
    visit: float
    cores: float
    """Of the slot in which its profile counts."""
    measured: bool
    """By an experiment: the profile includes hops and meters."""

    @staticmethod
    def of(pipeline: Pipeline, operator: Operator) -> _Costs:
        platform, profiles = pipeline.platform, pipeline.profiles
        measurement = profiles.measurement(operator.name)
        half_kb = platform.record_kb / 2
        send_us = [hop.send_us + hop.per_kb_us * half_kb for hop in platform.hops]
        receive_us = [hop.receive_us + hop.per_kb_us * half_kb for hop in platform.hops]
        transfer_us = 1e6 * profiles.transfer_cpu(operator.name)
        if not send_us[2] and not receive_us[2]:
            send_us[2] = receive_us[2] = transfer_us
        by_kind = {"source": platform.source_us, "sink": platform.sink_us}
        return _Costs(
            np.array(send_us)[_FAR] / 1e6,
            np.array(receive_us)[_FAR] / 1e6,
            (platform.meter_us + by_kind.get(operator.kind, 0.0)) / 1e6,
            (measurement.cores if measurement else None) or platform.cores,
            measurement is not None and measurement.source == "experiment",
        )


def _sent_per_tuple(pipeline: Pipeline, unit: ArrivalRates) -> Floats:
    """Per operator, tuples that it sends for each that it handles."""
    sending = np.array([source for source, _ in pipeline.topology.edges], dtype=np.int64)
    sent = summed(unit.streams, sending, len(unit.operators))
    return np.divide(sent, unit.operators, out=np.zeros_like(sent), where=unit.operators > 0)


def _tuples_by_distance(
    pipeline: Pipeline,
    cluster: Cluster,
    groups: Groups,
    unit: ArrivalRates,
    shares: Floats,
    by_slot: bool,
) -> tuple[Floats, Floats]:
    """[group, distance]: tuples sent, and received, for each tuple that a group handles.

    What goes to another rack counts as what goes to another node; without `by_slot`, what stays in
    its slot counts as what stays on its node.
    """
    topology = pipeline.topology
    node = cluster.slot_node[groups.slot]
    sent, received = np.zeros((2, len(groups.slot), 4))
    for stream, (source, target) in enumerate(topology.edges):
        if unit.streams[stream] <= 0:
            continue
        local = topology.streams[stream].grouping.kind == "local-or-shuffle"
        senders, receivers = groups.of_operator(source), groups.of_operator(target)
        leaves = _parts(groups, node, cluster, shares, senders, receivers, by_slot)
        if local:
            stays = np.isin(groups.slot[senders], groups.slot[receivers])
            leaves[stays] = 1.0, 0.0, 0.0, 0.0
            comes = np.tile(shares[senders] @ leaves, (receivers.stop - receivers.start, 1))
        else:
            comes = _parts(groups, node, cluster, shares, receivers, senders, by_slot)
        sent[senders] += leaves * unit.streams[stream] / unit.operators[source]
        received[receivers] += comes * unit.streams[stream] / unit.operators[target]
    return sent, received


def _parts(
    groups: Groups,
    node: NDArray[np.int64],
    cluster: Cluster,
    shares: Floats,
    ours: slice,
    others: slice,
    by_slot: bool,
) -> Floats:
    """[group of ours, distance]: which part of the others' tuples is handled how far away."""
    on_node = summed(shares[others], node[others], len(cluster.nodes))[node[ours]]
    in_slot = np.zeros(len(on_node))
    if by_slot:
        in_slot = summed(shares[others], groups.slot[others], cluster.slots)[groups.slot[ours]]
    elsewhere = 1 - on_node
    return np.stack((in_slot, on_node - in_slot, elsewhere, np.zeros(len(on_node))), axis=1)
