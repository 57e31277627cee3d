"""What a tuple costs beside its operator's own work: today, crossing to another node.

P-Deployer's c_t (paper 3) is CPU for each tuple that is sent to, or received from, another node. It
takes the thread's time and the slot's CPU. What Spark's shuffle and meters take per tuple belongs
here as well, once profiles carry it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slotwise.model import Cluster, Pipeline
from slotwise.prediction.groups import Floats, Groups, summed
from slotwise.rates import ArrivalRates


def with_transfers(
    pipeline: Pipeline, cluster: Cluster, groups: Groups, unit: ArrivalRates, shares: Floats
) -> Groups:
    """The groups with lower peak rates, and CPU for their own work and for transfers; memory per
    tuple stays. `shares` is each group's part of its operator's tuples.

    O(streams × (nodes + groups)).
    """
    operators = pipeline.topology.operators
    cost = np.array([pipeline.profiles.transfer_cpu(operator.name) for operator in operators])
    if not cost.any():
        return groups
    cores = cost[groups.operator] * _transfers(pipeline, cluster, groups, unit, shares)
    seconds = groups.threads / groups.peak + cores / cluster.slot_cpu[groups.slot]
    own = np.where(groups.fixed, 1.0, groups.threads / groups.peak / np.maximum(seconds, 1e-300))
    peak = groups.peak * own
    cpu = groups.cpu * own + np.where(groups.fixed, 0.0, cores * np.where(groups.fixed, 0.0, peak))
    return replace(groups, peak=peak, cpu=cpu, mem=groups.mem * own)


def _transfers(
    pipeline: Pipeline, cluster: Cluster, groups: Groups, unit: ArrivalRates, shares: Floats
) -> Floats:
    """Per group, how many tuples cross nodes, in or out, for each tuple that it handles."""
    topology, node = pipeline.topology, cluster.slot_node[groups.slot]
    crossing = np.zeros(len(groups.slot))
    for stream, (source, target) in enumerate(topology.edges):
        if unit.streams[stream] <= 0:
            continue
        senders, receivers = groups.of_operator(source), groups.of_operator(target)
        there = summed(shares[receivers], node[receivers], len(cluster.nodes))
        leaves = 1 - there[node[senders]]
        if topology.streams[stream].grouping.kind == "local-or-shuffle":
            leaves[np.isin(groups.slot[senders], groups.slot[receivers])] = 0.0
        crossing[senders] += leaves * unit.streams[stream] / unit.operators[source]
        if topology.streams[stream].grouping.kind == "local-or-shuffle":
            comes = np.full(receivers.stop - receivers.start, float(shares[senders] @ leaves))
        else:
            here = summed(shares[senders], node[senders], len(cluster.nodes))
            comes = 1 - here[node[receivers]]
        crossing[receivers] += comes * unit.streams[stream] / unit.operators[target]
    return crossing
