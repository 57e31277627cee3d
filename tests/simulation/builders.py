"""Plans in one line: operators with a service rate each, threads spread over the slots."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from slotwise.model import (
    Cluster,
    FixedLoad,
    NetworkDelays,
    Pipeline,
    Placement,
    Plan,
    Profile,
    Profiles,
    ServiceRate,
    Topology,
)
from tests import builders

NO_DELAYS = NetworkDelays(0.0, 0.0, 0.0, 0.0)


def plan(
    topology: Topology,
    rates: Mapping[str, float | Profile],
    threads: Mapping[str, int] | None = None,
    *,
    rate: float = 1.0,
    cluster: Cluster | None = None,
    slots: list[int] | None = None,
    delays: NetworkDelays = NO_DELAYS,
    weights: Mapping[str, tuple[float, ...]] | None = None,
) -> Plan:
    """`rates` are service rates of one thread, or profiles; operators left out take no time.

    A busy thread takes no CPU, so that no slot is over-committed. Threads go to `slots`, or round
    robin over all of the cluster (one node with one slot for each thread).
    """
    given: dict[str, Profile] = {o.name: FixedLoad() for o in topology.operators}
    for name, value in rates.items():
        given[name] = ServiceRate(value, cpu=0.0) if isinstance(value, (int, float)) else value
    counts = {o.name: (threads or {}).get(o.name, 1) for o in topology.operators}
    total = sum(counts.values())
    where = cluster or builders.cluster(1, total)
    pipeline = Pipeline(topology, Profiles(given, 3584.0), cluster=where, network=delays)
    return Plan(
        pipeline=pipeline,
        rate=rate,
        allocation=builders.allocation(topology, counts, rate=rate),
        cluster=where,
        slots=where.slots,
        extra_slots=0,
        placement=Placement(
            "test",
            tuple(counts.values()),
            np.array(slots) if slots is not None else np.arange(total) % where.slots,
        ),
        weights={name: (1 / count,) * count for name, count in counts.items()}
        | dict(weights or {}),
    )
