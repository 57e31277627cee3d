"""What controllers are tried on: bundled examples at a base rate, with a goal for their latency."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from slotwise.model import Goals, Pipeline, Plan, Profile, Scheduler, TaskCosts, VmType
from slotwise.planner import Request, plan_as_chosen
from slotwise.spec import load
from slotwise.studies.undivided import undivided

SLOWED = {"word-count": 20.0}
"""Operators of these take so many times longer than in their spec, at so many times less input:
plans stay as large, and a day has fewer tuples."""
SLOT_PRICE = 0.1
"""Per hour, of machines that the spec gives no price."""


@dataclass(frozen=True)
class Workload:
    """An example with the goal that it is judged by."""

    name: str
    rate: float
    """The base rate, tuples/s."""
    latency_p99_ms: float

    def pipeline(self) -> Pipeline:
        """Planned by search, on machines that can be added and given back."""
        spec = undivided(load(self.name))
        made = replace(
            spec,
            goals=Goals(rate=self.rate, latency_p99_ms=self.latency_p99_ms),
            scheduler=Scheduler(),
        )
        if made.cluster is not None:
            node = made.cluster.nodes[0]
            price = node.slots * SLOT_PRICE
            offered = VmType("machine", node.slots, node.memory_gb, price)
            made = replace(made, cluster=None, catalog=(offered,))
        factor = SLOWED.get(self.name, 1.0)
        slower = {name: _slower(each, factor) for name, each in made.profiles.by_operator.items()}
        return replace(made, profiles=replace(made.profiles, by_operator=slower))

    def plan(self, demand: float, speed: float = 1.0) -> Plan:
        """The cheapest plan for `demand` times the work of the base rate, if operators have `speed`
        times theirs: planned as if more arrived and less time was allowed. Raises SlotwiseError.
        """
        return _planned(self, demand, speed)


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("word-count", 150.0, 1_000.0),
        Workload("diamond", 45.0, 25_000.0),
        Workload("traffic", 20.0, 60_000.0),
        Workload("vld", 18.0, 8_000.0),
    )
}


@functools.lru_cache(maxsize=64)
def _planned(workload: Workload, demand: float, speed: float) -> Plan:
    """Strategies of a day begin with the same plan: search once for them."""
    pipeline, rate = workload.pipeline(), demand * workload.rate
    goals = Goals(rate=rate, latency_p99_ms=workload.latency_p99_ms * speed)
    request = Request(replace(pipeline, goals=goals), rate, pipeline.scheduler)
    return replace(plan_as_chosen(request), pipeline=pipeline)


def _slower(profile: Profile, factor: float) -> Profile:
    if not isinstance(profile, TaskCosts):
        return profile
    return TaskCosts(
        profile.cpu_points * factor,
        profile.transfer_points * factor,
        profile.memory_mb * factor,
        profile.sojourn_ms * factor,
    )
