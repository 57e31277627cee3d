"""What is believed of the run at this moment: its operators, its nodes, and what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slotwise.controllers._measured import loads
from slotwise.controllers.base import Situation
from slotwise.learning import learned
from slotwise.model import Cluster, Observation, Pipeline, Plan

LEARNED_S, SPEEDS_S = 180.0, 60.0
SLOW, DEVIATIONS = 0.85, 4.0
"""A node below this part of the speed of the others, by more than so many standard deviations of
what was measured, is slow."""


@dataclass(frozen=True)
class Present:
    plan: Plan
    """The plan in effect; its pipeline is as measured, its nodes as fast as measured."""
    given: Pipeline
    """The pipeline as it is given, with the profiles that were measured."""
    speeds: Mapping[str, float]
    """Of nodes that are slow: parts of the speed that they should have."""
    waiting: Mapping[str, float]
    """Tuples at operators: those that wait and those in service."""

    def believed(self, plan: Plan) -> Plan:
        """Another plan as it would be: with what was measured of operators and nodes."""
        cluster = slowed(plan.cluster, self.speeds)
        return replace(plan, pipeline=self.plan.pipeline, cluster=cluster)


def present(situation: Situation) -> Present:
    plan, lately = situation.plan, situation.last(LEARNED_S)
    speeds = slow_nodes(plan, situation.last(SPEEDS_S)) if situation.covers(SPEEDS_S) else {}
    here = replace(plan, cluster=slowed(plan.cluster, speeds))
    known = learned(here, lately)
    pipeline = known.of(plan.pipeline)
    return Present(
        replace(here, pipeline=pipeline),
        replace(plan.pipeline, profiles=known.profiles),
        speeds,
        waiting(plan, situation.last(2 * situation.period_s)),
    )


def slowed(cluster: Cluster, speeds: Mapping[str, float]) -> Cluster:
    nodes = tuple(
        replace(node, speed=node.speed * speeds.get(node.name, 1.0)) for node in cluster.nodes
    )
    return replace(cluster, nodes=nodes) if speeds else cluster


def slow_nodes(plan: Plan, observations: Sequence[Observation]) -> dict[str, float]:
    """Nodes whose threads take longer than those of others, beside what profiles say of them.

    The speed of a node is the median one over its own. A thread that cannot keep up is always busy,
    so it takes as long as it handles tuples. Service times are taken for exponential.
    """
    from slotwise.simulation.options import Keys
    from slotwise.simulation.service import thread_figures

    seen = [each for each in observations if len(each.threads) == len(plan.placement.slots)]
    nodes = len(plan.cluster.nodes)
    if not seen or nodes < 2:
        return {}
    loads = [[(load.arrival_rate, min(load.utilisation, 1.0)) for load in o.threads] for o in seen]
    handled, busy = np.mean(loads, axis=0).T
    usual_s = thread_figures(plan, max(seen[-1].offered_rate, 1e-9), Keys()).service_s
    node = plan.cluster.slot_node[plan.placement.slots]
    usual = np.bincount(node, handled * usual_s, nodes)
    taken = np.bincount(node, np.where(usual_s > 0, busy, 0.0), nodes)
    known = (usual > 0) & (taken > 0)
    if known.sum() < 2:
        return {}
    squared = np.bincount(node, handled * usual_s**2, nodes) / _seconds(seen)
    deviation = np.divide(np.sqrt(squared), usual, out=np.zeros(nodes), where=known)
    times = np.divide(taken, usual, out=np.ones(nodes), where=known)
    speed = np.where(known, np.median(times[known]) / times, 1.0)
    slow = (speed < SLOW) & (1 - speed > DEVIATIONS * deviation)
    return {plan.cluster.nodes[i].name: float(speed[i]) for i in np.flatnonzero(slow).tolist()}


def _seconds(seen: Sequence[Observation]) -> float:
    seconds = sum((each.end_s or 0.0) - (each.start_s or 0.0) for each in seen)
    return max(seconds, 1e-9)


def waiting(plan: Plan, observations: Sequence[Observation]) -> dict[str, float]:
    """At sources the backlog; at operators the mean queue of the last period and half of what it
    grew since the one before, and a tuple for every busy thread. What is not measured counts 0.
    """
    seen, sources = observations[-1], {source.name for source in plan.pipeline.topology.sources}
    before = loads(observations[-2] if len(observations) > 1 else seen)
    found = {}
    for name, load in loads(seen).items():
        queue = load.queue or 0.0
        if name in sources:
            found[name] = seen.backlog or 0.0
            continue
        grown = (queue - (before[name].queue or 0.0)) / 2
        served = 0.0 if plan.pipeline.profiles.fixed(name) else load.utilisation
        found[name] = max(0.0, queue + grown) + min(served, 1.0) * plan.threads[name]
    return found
