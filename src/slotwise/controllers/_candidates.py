"""The plans that a controller chooses from, made by the planner from what is believed now."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from slotwise import registry
from slotwise.controllers._goals import SPARE_AT_FIRST, most_busy, must_hold
from slotwise.controllers._plans import in_pipeline, placer_of, provisioner_of
from slotwise.controllers._present import Present, slowed
from slotwise.model import (
    Choice,
    Cluster,
    Goals,
    Node,
    Observation,
    Pipeline,
    Plan,
    Scheduler,
    SlotwiseError,
)
from slotwise.model.decision import kind_of
from slotwise.planner import Request, check_budget
from slotwise.search import least_cost, promising, quick_placers

ESTIMATED = 3.0
"""Predicted latencies of busy slots with many threads may be too high by so much."""


class Candidates:
    """Plans for a present. All but their names of nodes is as the planner makes them."""

    def __init__(self, now: Present, current: Plan, seen: Observation, goals: Goals) -> None:
        self.now, self.current, self.seen = now, current, seen
        held = must_hold(goals)
        self.goals = replace(
            held,
            headroom=1 - most_busy(held, SPARE_AT_FIRST),
            machines=goals.machines,
            cost_per_hour=goals.cost_per_hour,
        )

    def least(self, rate: float) -> tuple[float, int]:
        """What no plan for that rate is below: cost per hour, slots. Takes little time."""
        return least_cost(self._request(rate, self._scheduler()))

    def sized(self, rate: float) -> Iterator[Plan]:
        """With other threads or machines, for that rate, cheapest first."""
        for plan in promising(self._request(rate, self._scheduler()), ESTIMATED):
            with contextlib.suppress(SlotwiseError):
                yield self._given(plan, rate)

    def moved(self, rate: float) -> Iterator[Plan]:
        """The same threads in other slots, and without the machines that are slow."""
        for placer in self._movers():
            with contextlib.suppress(SlotwiseError):
                plan = self._placed_again(placer, rate)
                if kind_of(self.current, plan) == "re-place":
                    yield plan
        if self.now.speeds and self.current.pipeline.cluster is None:
            cluster = renamed(self.current.cluster, self.current.cluster, self.now.speeds)
            yield in_pipeline(replace(self.current, cluster=cluster, rate=rate), self.now.given)

    def _movers(self) -> Iterator[Choice]:
        if self.seen.thread_traffic is not None:
            yield Choice("traffic")
        yield placer_of(self.current)
        topology, allocation = self.current.pipeline.topology, self.current.allocation
        if "partition" in quick_placers(topology, allocation):
            yield Choice("partition")

    def _placed_again(self, placer: Choice, rate: float) -> Plan:
        here = replace(self._pipeline(), catalog=(), cluster=self.now.plan.cluster)
        request = Request(here, rate, here.scheduler, self.now.plan, self.seen)
        plan = request.place(self.current.allocation, provisioner_of(self.current), placer, False)
        same = replace(plan, cluster=self.current.cluster, slots=len(plan.placement.used_slots))
        return in_pipeline(same, self.now.given)

    def _scheduler(self) -> Scheduler:
        """Threads by any allocator: one that is named sizes for another situation."""
        named = self.current.pipeline.scheduler
        return replace(named, allocator=Choice(registry.AUTO))

    def _pipeline(self) -> Pipeline:
        """As measured, to be planned for what must hold."""
        pipeline = replace(self.now.plan.pipeline, goals=self.goals)
        if pipeline.cluster is None:
            return pipeline
        return replace(pipeline, cluster=slowed(pipeline.cluster, self.now.speeds))

    def _request(self, rate: float, scheduler: Scheduler) -> Request:
        return Request(self._pipeline(), max(rate, 1e-9), scheduler, self.now.plan)

    def _given(self, plan: Plan, rate: float) -> Plan:
        """As a deployment takes it: with nodes as they are named and fast as they should be."""
        check_budget(self.goals, plan.cluster)
        known = self.current.pipeline.cluster
        if known is None:
            cluster = renamed(plan.cluster, self.current.cluster, self.now.speeds)
        else:
            cluster = replace(plan.cluster, nodes=known.nodes[: plan.machines])
        return in_pipeline(replace(plan, cluster=cluster, rate=rate), self.now.given)


def renamed(cluster: Cluster, before: Cluster, slow: Mapping[str, float]) -> Cluster:
    """Machines of a type are those of before, but the slow ones, as far as they go; the others are
    new, with higher numbers than any before.
    """
    kept: dict[str | None, list[str]] = {}
    highest: dict[str, int] = {}
    for node in before.nodes:
        stem, _, number = node.name.rpartition("-")
        highest[stem] = max(highest.get(stem, 0), int(number) if number.isdigit() else 0)
        if node.name not in slow:
            kept.setdefault(node.type, []).append(node.name)

    def name(node: Node) -> str:
        if kept.get(node.type):
            return kept[node.type].pop(0)
        stem = node.name.rpartition("-")[0]
        highest[stem] = highest.get(stem, 0) + 1
        return f"{stem}-{highest[stem]}"

    return replace(cluster, nodes=tuple(replace(node, name=name(node)) for node in cluster.nodes))
