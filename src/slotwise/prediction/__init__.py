"""predict(plan, rate) -> Prediction: what will this placement do, whoever made it?

Rate, CPU and memory follow paper 1's models, latency a network of queues, one per thread as
engines have them, with the network's share added. Nothing here looks at how the placement was made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from slotwise.model import (
    Cluster,
    Pipeline,
    Plan,
    Prediction,
    SlotLoad,
    StreamLoad,
    Topology,
    is_stable,
)
from slotwise.prediction.contention import loaded_part
from slotwise.prediction.groups import Floats, Groups, groups_of, shares_by_weight, summed
from slotwise.prediction.latency import Work, operator_loads, sink_latency_ms, sojourn_ms
from slotwise.prediction.network import Distances, delays_by_distance_ms, distances
from slotwise.prediction.overheads import overheads_of
from slotwise.prediction.percentiles import PERCENTILES, latency_percentiles_ms
from slotwise.prediction.rate import (
    busiest_shares,
    own_shares,
    slot_cpu,
    stream_shares,
    sustained_rate,
)
from slotwise.prediction.shared_queues import shared_queue_times_ms
from slotwise.prediction.thread_kinds import thread_kinds
from slotwise.prediction.thread_queues import ThreadQueues, thread_queues
from slotwise.rates import ArrivalRates, arrival_rates

__all__ = ["node_loads", "predict", "slot_loads"]


def predict(plan: Plan, rate: float | None = None) -> Prediction:
    """The plan at the input rate `rate` (its own, if none is given).

    `capacity` is under the topology's own groupings; CPU, memory and latency are those at the
    offered rate. Time O(threads log threads + streams × nodes); with a platform see
    `Overheads.charged`, and `sustained_rate` where buffers cost CPU.
    """
    offered = plan.rate if rate is None else rate
    pipeline, cluster, topology = plan.pipeline, plan.cluster, plan.pipeline.topology
    alone = groups_of(pipeline, cluster, plan.placement)
    unit = arrival_rates(topology, 1.0, plan.placement.threads)
    proportional = shares_by_weight(alone, plan, cluster.slots)
    shares = own_shares(alone, topology, unit, proportional)
    busiest = busiest_shares(alone, topology, unit, proportional)
    overheads = overheads_of(pipeline, cluster, alone, unit)
    charged = overheads.charged(shares, stream_shares(alone, topology, proportional))
    own = sustained_rate(charged, shares, unit, cluster, busiest=busiest)
    groups = charged.at(offered)

    def capacity(shares: Floats) -> float:
        return sustained_rate(overheads.charged(shares), shares, unit, cluster).rate

    asked = offered / own.rate if own.rate > 0 else math.inf

    rates = unit.scaled(offered)
    arriving = rates.operators[groups.operator] * shares
    most = rates.operators[groups.operator] * busiest
    work = _work(groups, arriving, most, cluster, _service_scv(pipeline, groups, overheads.own))
    travel = distances(topology, cluster, groups, shares)
    cpu = slot_cpu(groups, arriving, cluster.slots)
    memory = groups.per_slot(_memory(groups, arriving), cluster.slots)
    memory += groups.idle(groups.idle_mem, cluster.slots)
    # Rates and times of extreme magnitudes may vanish beside each other: the limits are right.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        times = _times(plan, groups, proportional, work, rates, travel)
    return Prediction(
        origin="predicted",
        offered_rate=offered,
        throughput=min(offered, own.rate),
        capacity=own.rate,
        proportional_capacity=capacity(proportional),
        shuffle_capacity=capacity(groups.even_shares()),
        stable=is_stable(asked),
        busiest=asked,
        bottleneck=topology.operators[own.bottleneck].name,
        **times,
        streams=_stream_loads(topology, rates),
        slots=slot_loads(cluster, cpu, memory),
        nodes=node_loads(cluster, cpu, memory),
        cost_per_hour=cluster.price_per_hour,
        inter_slot_traffic=max(0.0, float(rates.streams @ (1 - travel.in_slot))),
        inter_node_traffic=max(0.0, float(rates.streams @ (1 - travel.in_node))),
    )


def _times(
    plan: Plan,
    groups: Groups,
    by_weight: Floats,
    work: Work,
    rates: ArrivalRates,
    travel: Distances,
) -> dict[str, Any]:
    """Latencies at sinks, sojourn times, and the operators with their waits."""
    pipeline, topology = plan.pipeline, plan.pipeline.topology
    delays_ms = delays_by_distance_ms(pipeline, rates, plan.placement.threads)
    delays = travel.mean_delay_ms(delays_ms)
    kinds = thread_kinds(plan, groups, by_weight)
    queues = thread_queues(plan, groups, kinds, work, rates, delays)
    times = queues.times()
    shared_ms = shared_queue_times_ms(pipeline, groups, work, rates)
    latency_ms = sink_latency_ms(topology, times.ms, rates, delays)
    p50, p95, p99 = _percentiles_ms(topology, queues, rates, travel, delays_ms, latency_ms)
    network_ms = float(rates.streams @ delays) / rates.external
    return {
        "latency_ms": latency_ms,
        "latency_p50_ms": p50,
        "latency_p95_ms": p95,
        "latency_p99_ms": p99,
        "sojourn_ms": sojourn_ms(times.ms, rates, network_ms),
        "shared_queue_latency_ms": sink_latency_ms(topology, shared_ms, rates, delays),
        "shared_queue_sojourn_ms": sojourn_ms(shared_ms, rates, network_ms),
        "network_ms": network_ms,
        "operators": operator_loads(pipeline, groups, work, times, rates, delays),
    }


def _percentiles_ms(
    topology: Topology,
    queues: ThreadQueues,
    rates: ArrivalRates,
    travel: Distances,
    delays_ms: Floats,
    mean_ms: float | None,
) -> Sequence[float | None]:
    """Not known, or unbounded, where the mean latency is."""
    if mean_ms is None or math.isinf(mean_ms):
        return [mean_ms] * len(PERCENTILES)
    return latency_percentiles_ms(topology, queues, rates, travel, delays_ms, mean_ms)


def _service_scv(pipeline: Pipeline, groups: Groups, own: Groups) -> Floats:
    """Per group; what overheads add to the service times of `own` does not vary."""
    operators = pipeline.topology.operators
    scv = np.array([pipeline.profiles.service_scv(operator.name) for operator in operators])
    part = np.divide(groups.peak, own.peak, out=np.ones(len(groups.peak)), where=~groups.fixed)
    return np.asarray(scv[groups.operator] * part**2)


def _work(
    groups: Groups, arriving: Floats, most: Floats, cluster: Cluster, service_scv: Floats
) -> Work:
    """What groups can do: a slot short of CPU slows down all its threads.

    `arriving` is tuples/s, `most` what it would be if all threads got what the busiest one gets.
    """
    cpu = slot_cpu(groups, arriving, cluster.slots)
    loaded = loaded_part(groups, arriving, cpu, cluster)
    slowed = np.minimum(1.0, cluster.slot_cpu / np.maximum(cpu, 1e-12))[groups.slot]
    capacity = np.where(groups.fixed, np.inf, groups.peak * slowed)
    # A queue that is just full never empties; a slot short of CPU holds up all its threads.
    overloaded = (most >= capacity * (1 - 1e-9)) | (slowed < 1 - 1e-9)
    busy = np.where(groups.fixed, 1.0, np.minimum(arriving / groups.peak, 1.0))
    waiting = np.where(groups.fixed, groups.waiting_cpu, groups.waiting_cpu * (1 - busy))
    cpu = (groups.always_cpu + waiting + groups.cpu * busy) * slowed
    return Work(capacity, overloaded & ~groups.fixed, cpu, service_scv, loaded)


def _stream_loads(topology: Topology, rates: ArrivalRates) -> tuple[StreamLoad, ...]:
    return tuple(
        StreamLoad(stream.source, stream.target, rate, stream.selectivity)
        for stream, rate in zip(topology.streams, rates.streams.tolist(), strict=True)
    )


def _memory(groups: Groups, arriving: Floats) -> Floats:
    """The model's memory at the peak rate, scaled to the actual one; fixed loads as they are."""
    return np.asarray(groups.always_mem + groups.mem * np.minimum(1, arriving / groups.peak))


def slot_loads(cluster: Cluster, cpu: Floats, memory: Floats) -> tuple[SlotLoad, ...]:
    """All slots; `cpu` and `memory` are per slot, in reference slots."""
    share_cpu = (cpu / cluster.slot_cpu).tolist()
    share_memory = (memory / cluster.slot_memory).tolist()
    return tuple(map(SlotLoad, cluster.slot_names, share_cpu, share_memory))


def node_loads(cluster: Cluster, cpu: Floats, memory: Floats) -> tuple[SlotLoad, ...]:
    """All nodes; `cpu` and `memory` are what their slots use, in reference slots."""

    def by_node(values: Floats) -> Floats:
        return summed(values, cluster.slot_node, len(cluster.nodes))

    share_cpu = by_node(cpu) / by_node(cluster.slot_cpu)
    share_memory = by_node(memory) / by_node(cluster.slot_memory)
    return tuple(
        SlotLoad(node.name, float(share_cpu[i]), float(share_memory[i]))
        for i, node in enumerate(cluster.nodes)
    )
