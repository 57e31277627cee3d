"""Divisions of a number of processors among an application's operators: what DRS says of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from slotwise.allocators.drs import Drs
from slotwise.model import Allocation, Pipeline, Plan, ServiceRate
from slotwise.model.profile import with_variation
from slotwise.placers.round_robin import RoundRobin
from slotwise.rates import arrival_rates
from slotwise.simulation import Routing
from slotwise.studies.given import given_threads, placed, rate_of

PROCESSORS = 22
ONE_QUEUE = Routing(shuffle="random", selectivity="random", queue="shared")
"""What the model assumes: an operator's threads serve one queue."""
Division = tuple[int, ...]


@dataclass(frozen=True)
class Application:
    """A pipeline, its operators in the order the paper writes divisions, and the divisions that
    its text names.
    """

    name: str
    pipeline: Pipeline
    operators: tuple[str, str, str]
    named: tuple[Division, ...]

    @property
    def rate(self) -> float:
        return rate_of(self.pipeline)

    def plan(self, division: Division, machines: int | None = None) -> Plan:
        """On all machines, or on the first ones."""
        threads = dict(zip(self.operators, division, strict=True))
        cluster = self.pipeline.cluster
        assert cluster is not None
        here = replace(self.pipeline, cluster=replace(cluster, nodes=cluster.nodes[:machines]))
        allocation = given_threads(here, self.rate, threads)
        return replace(placed(here, allocation, RoundRobin()), pipeline=self.pipeline)

    def division_of(self, plan: Plan) -> Division:
        return tuple(plan.threads[name] for name in self.operators)

    def recommended(self, processors: int) -> Division:
        found = Drs(processors=processors).allocate(
            self.pipeline.topology, self.pipeline.profiles, self.rate, self.pipeline.goals
        )
        assert isinstance(found, Allocation)
        threads = {entry.operator: entry.threads for entry in found}
        return tuple(threads[name] for name in self.operators)

    def six(self) -> tuple[Division, ...]:
        """The recommended division, those the paper names, and the nearest others."""
        best = self.recommended(PROCESSORS)
        steps = [s for s in itertools.product(range(-2, 3), repeat=3) if sum(s) == 0 and any(s)]
        near = sorted(steps, key=lambda step: (sum(map(abs, step)), step))
        others = [tuple(b + s for b, s in zip(best, step, strict=True)) for step in near]
        usable = [each for each in (best, *self.named, *others) if self._keeps_up(each)]
        return tuple(sorted(tuple(dict.fromkeys(usable))[:6]))

    def _keeps_up(self, division: Division) -> bool:
        if min(division) < 1:
            return False
        predicted = self.plan(division).predicted
        return predicted is not None and not predicted.fully_busy


def division_name(division: Division) -> str:
    return ":".join(map(str, division))


def with_bursts(plan: Plan) -> Plan:
    """The same plan with profiles that say how bursty arrivals are.

    A stream with selectivity 3 puts three tuples at once into a queue, `all` grouping one for each
    thread: bursts of size b vary b times as much as single tuples. Several streams mix by rate.
    """
    topology, threads = plan.pipeline.topology, plan.placement.threads
    rates = arrival_rates(topology, plan.rate, threads)
    by_operator = dict(plan.pipeline.profiles.by_operator)
    for position, operator in enumerate(topology.operators):
        if plan.pipeline.profiles.derived(operator.name, ServiceRate):
            continue
        weights = [float(rates.streams[stream]) for stream in topology.inputs[position]]
        sizes = [
            max(1.0, topology.streams[stream].selectivity)
            * (threads[position] if topology.streams[stream].grouping.kind == "all" else 1)
            for stream in topology.inputs[position]
        ]
        variation = float(np.average(sizes, weights=weights))
        profile = by_operator[operator.name]
        by_operator[operator.name] = with_variation(profile, arrival_scv=variation)
    profiles = replace(plan.pipeline.profiles, by_operator=by_operator)
    return replace(plan, pipeline=replace(plan.pipeline, profiles=profiles))
