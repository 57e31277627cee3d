"""A plan as large as the page has to show: 20 operators, 1,000 threads, 200 slots on 50 nodes."""

from __future__ import annotations

import itertools
from functools import cache

import slotwise
from slotwise.model import Goals, Pipeline, Plan, Profiles, ServiceRate
from tests import builders

OPERATORS, THREADS, NODES, SLOTS = 20, 1000, 50, 4
RATE = 495.0
"""With 50 threads per operator that do 10 tuples/s each."""


@cache
def large_plan(placer: str = "round-robin") -> Plan:
    names = [f"operator-{number}" for number in range(OPERATORS)]
    streams = [f"{one}>{other}" for one, other in itertools.pairwise(names)]
    profiles = Profiles({name: ServiceRate(10.0, cpu=0.15) for name in names}, 3584.0)
    cluster = builders.cluster(NODES, SLOTS)
    goals = Goals(rate=RATE, latency_p99_ms=60_000.0)
    pipeline = Pipeline(builders.topology(*streams), profiles, cluster=cluster, goals=goals)
    plan = slotwise.plan(pipeline, allocator="p-deployer", placer=placer)
    assert sum(plan.placement.threads) == THREADS, plan.placement.threads
    assert plan.slots == NODES * SLOTS
    return plan
