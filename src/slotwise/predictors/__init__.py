"""predict(plan, rate) -> Prediction: what will this placement do, whoever made it?

Rate, CPU and memory follow paper 1's models, latency paper 5's queueing network with the
network's share added. Nothing here looks at how the placement was made.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from slotwise.model import Cluster, Plan, Prediction, SlotLoad
from slotwise.predictors.groups import Floats, Groups, groups_of, summed
from slotwise.predictors.latency import mean_latency_ms, operator_loads
from slotwise.predictors.network import distances
from slotwise.predictors.rate import own_shares, slot_cpu, sustained_rate
from slotwise.predictors.thread_queues import waits_s
from slotwise.predictors.weights import shares_by_weight, weights
from slotwise.rates import arrival_rates

__all__ = ["node_loads", "predict", "slot_loads", "weights"]


def predict(plan: Plan, rate: float | None = None) -> Prediction:
    """The plan at `rate` input tuples/s (its own, if none is given).

    `rate` of the result is the highest sustained one under the topology's own groupings; CPU,
    memory and latency are those at the input rate. Time O(threads log threads + streams × nodes).
    """
    pipeline, cluster, topology = plan.pipeline, plan.cluster, plan.pipeline.topology
    groups = groups_of(pipeline, cluster, plan.placement)
    unit = arrival_rates(topology, 1.0, plan.placement.threads)
    proportional = shares_by_weight(groups, plan, cluster.slots)
    shares = own_shares(groups, topology, unit, proportional)
    own = sustained_rate(groups, shares, unit, cluster)

    rates = unit.scaled(plan.rate if rate is None else rate)
    arriving = rates.operators[groups.operator] * shares
    cpu = slot_cpu(groups, arriving, cluster.slots)
    slowed = np.minimum(1.0, cluster.slot_cpu / np.maximum(cpu, 1e-12))
    capacity = np.where(groups.fixed, np.inf, groups.peak * slowed[groups.slot])
    # A queue that is just full never empties; a slot short of CPU holds up all its threads.
    overloaded = (arriving >= capacity * (1 - 1e-9)) | (slowed[groups.slot] < 1 - 1e-9)
    travel = distances(topology, cluster, groups, shares)
    delays = travel.mean_delay_ms(pipeline.network)
    loads = operator_loads(pipeline, groups, capacity, overloaded & ~groups.fixed, rates, delays)
    waits = waits_s(pipeline, groups, capacity, arriving, rates)
    own_queues = [
        load if math.isinf(load.waiting_ms) else replace(load, waiting_ms=wait * 1000)
        for load, wait in zip(loads, waits.tolist(), strict=True)
    ]
    delay_ms = float(rates.streams @ delays) / rates.external
    memory = groups.per_slot(_memory(groups, arriving), cluster.slots)
    return Prediction(
        origin="predicted",
        input_rate=plan.rate if rate is None else rate,
        rate=own.rate,
        proportional_rate=sustained_rate(groups, proportional, unit, cluster).rate,
        shuffle_rate=sustained_rate(groups, groups.even_shares(), unit, cluster).rate,
        bottleneck=topology.operators[own.bottleneck].name,
        latency_ms=mean_latency_ms(loads, delay_ms, rates.external),
        thread_queues_ms=mean_latency_ms(own_queues, delay_ms, rates.external),
        network_ms=delay_ms,
        operators=loads,
        slots=slot_loads(plan, cpu, memory),
        nodes=node_loads(cluster, cpu, memory),
        inter_slot_traffic=float(rates.streams @ (1 - travel.in_slot)),
        inter_node_traffic=float(rates.streams @ (1 - travel.in_node)),
    )


def _memory(groups: Groups, arriving: Floats) -> Floats:
    """The model's memory at the peak rate, scaled to the actual one; fixed loads as they are."""
    return np.where(groups.fixed, groups.mem, groups.mem * np.minimum(1, arriving / groups.peak))


def slot_loads(plan: Plan, cpu: Floats, memory: Floats) -> tuple[SlotLoad, ...]:
    """Used slots only; `cpu` and `memory` are per slot, in reference slots."""
    cluster = plan.cluster
    return tuple(
        SlotLoad(
            str(cluster.slot(slot)),
            float(cpu[slot] / cluster.slot_cpu[slot]),
            float(memory[slot] / cluster.slot_memory[slot]),
        )
        for slot in plan.placement.used_slots.tolist()
    )


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
