"""What paper 4 leaves open about links and buffers, and a topology simulated under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from slotwise.model import NetworkDelays, Observation, Plan
from slotwise.placers.base import Placer
from slotwise.placers.pipeline import Pipeline
from slotwise.placers.r_storm import RStorm
from slotwise.placers.round_robin import RoundRobin
from slotwise.simulation import Buffers, Network, simulate
from slotwise.studies.given import given_threads, placed
from slotwise.studies.study import Effort
from slotwise.workloads.pipeline import (
    BANDWIDTH_MB_PER_S,
    BUFFER_TUPLES,
    SLOTS_PER_NODE,
    TUPLE_BYTES,
    Case,
)

DEFAULT, IN_ORDER, R_STORM = "default", "slot by slot", "r-storm"
PIPELINE, UNSTEPPED = "pipeline", "pipeline, no steps"
SCHEDULERS = (DEFAULT, IN_ORDER, R_STORM, PIPELINE, UNSTEPPED)
USUAL, OVERLOAD = 0.1, 1.5
"""Parts of the rate at which the default's busiest link is full. At the usual one the pipeline's
turns have room for all tuples."""
TRANSFER_MS = TUPLE_BYTES / (BANDWIDTH_MB_PER_S * 1000)
"""One tuple on one link."""


@dataclass(frozen=True)
class Conditions:
    """Of links, buffers and steps; the values here are those that the study assumes."""

    node_buffer: int = SLOTS_PER_NODE * BUFFER_TUPLES
    """Tuples in a node's receive buffer: the paper's 4K for each task, one task a slot."""
    resend_ms: float = 100.0
    """The paper's 'short period'."""
    link_speed: float = 1.0
    """In 100 Mbps."""
    turn_tuples: int = 1
    """A time slot has room for so many tuples of each stage."""
    stalls: bool = True
    """After each round the pipeline stalls as long as the paper says."""
    equally_far: bool = False
    """All nodes are; otherwise those of another rack are farther."""

    def network(self, plan: Plan, stepwise: bool) -> Network:
        delays = plan.pipeline.network
        if self.equally_far:
            mean_ms = (delays.rack_ms + delays.cluster_ms) / 2
            delays = NetworkDelays(delays.slot_ms, delays.node_ms, mean_ms, mean_ms)
        schedule = plan.placement.schedule
        stages = schedule.stages if schedule else 1
        turn_ms = self.turn_tuples * TRANSFER_MS / self.link_speed
        return Network(
            delays,
            tuple_bytes=TUPLE_BYTES,
            bandwidth_mb_per_s=self.link_speed * BANDWIDTH_MB_PER_S,
            stepwise=stepwise,
            step_ms=stages * (turn_ms + delays.cluster_ms - delays.rack_ms),
        )

    def buffers(self) -> Buffers:
        return Buffers(
            BUFFER_TUPLES, "lose", resend_after_ms=self.resend_ms, node_capacity=self.node_buffer
        )


ASSUMED = Conditions()


@dataclass(frozen=True)
class Trial:
    """One topology under all schedulers."""

    case: Case
    plans: Mapping[str, Plan]
    full: float
    """The input rate at which the default's busiest link is full, at 100 Mbps."""

    @classmethod
    def of(cls, case: Case) -> Trial:
        allocation = given_threads(case.pipeline, 1000.0, case.threads)
        cluster = case.pipeline.cluster
        assert cluster is not None
        placers: dict[str, Placer] = {
            DEFAULT: RoundRobin(workers=cluster.slots),  # goes round the nodes, as Storm does
            IN_ORDER: RoundRobin(),
            R_STORM: RStorm(),
            PIPELINE: Pipeline(),
            UNSTEPPED: Pipeline(),
        }
        plans = {
            name: placed(case.pipeline, allocation, placer) for name, placer in placers.items()
        }
        return cls(case, plans, _full_rate(plans[DEFAULT]))

    def seen(
        self, scheduler: str, load: float, tuples: int, effort: Effort, given: Conditions = ASSUMED
    ) -> Observation:
        """At `load` times the rate at which the default's busiest link is full."""
        plan, stepwise = self.plans[scheduler], scheduler == PIPELINE
        schedule = plan.placement.schedule
        if schedule and not given.stalls:
            free = replace(schedule, stall_steps=0)
            plan = replace(plan, placement=replace(plan.placement, schedule=free))
        return simulate(
            plan,
            load * self.full * given.link_speed,
            network=given.network(plan, stepwise),
            buffers=given.buffers(),
            tuples=tuples,
            seed=effort.seed,
        )

    @property
    def turns_used(self) -> float:
        """The part of the pipeline's turns, of a node in a time slot for a stage, in which the node
        may send to one that it has tuples for.
        """
        plan = self.plans[PIPELINE]
        schedule, topology = plan.placement.schedule, plan.pipeline.topology
        assert schedule is not None
        node, operator = (
            plan.cluster.slot_node[plan.placement.slots],
            plan.placement.thread_operator,
        )
        on = [np.unique(node[operator == each]).tolist() for each in range(len(topology.operators))]
        depth = [0] * len(on)
        for each in topology.order:
            before = (topology.edges[stream][0] for stream in topology.inputs[each])
            depth[each] = max((depth[source] + 1 for source in before), default=0)
        used = {
            (sender, receiver, depth[target])
            for source, target in topology.edges
            for sender in on[source]
            for receiver in on[target]
            if sender != receiver
        }
        time_slots = len(schedule.senders) + schedule.stall_steps
        return len(used) / (len(plan.cluster.nodes) * time_slots * schedule.stages)


def _full_rate(plan: Plan) -> float:
    """Tuples between nodes are proportional to the input: a short run without limits tells."""
    traffic = simulate(plan, plan.rate, tuples=20_000).node_traffic
    assert traffic is not None
    nodes = len(plan.cluster.nodes)
    apart = traffic.senders != traffic.receivers
    links = [
        np.bincount(ends[apart], traffic.rates[apart], nodes).max()
        for ends in (traffic.senders, traffic.receivers)
    ]
    return plan.rate * 1000 / TRANSFER_MS / float(max(links))


def latency_ms(seen: Observation) -> float:
    assert seen.latency_ms is not None
    return seen.latency_ms


def throughput(seen: Observation) -> float:
    """Tuples/s that all bolts together finish, the first fifth of the run left out."""
    assert seen.series is not None
    bolts = [name for name in seen.series.handled_rate if name != "spout"]
    windows = len(seen.series.offered_rate)
    return float(
        sum(np.mean(seen.series.handled_rate[bolt][windows // 5 : windows]) for bolt in bolts)
    )


def buffered(seen: Observation) -> float:
    """Tuples in the fullest node's receive buffer, in the mean over time."""
    return max(link.held for link in seen.links)


def sent_again(seen: Observation) -> float:
    """How often full buffers drop a tuple, per input."""
    assert seen.start_s is not None
    assert seen.end_s is not None
    inputs = seen.offered_rate * (seen.end_s - seen.start_s)
    return sum(load.resent for load in seen.operators) / inputs


def held(seen: Observation) -> float:
    """Tuples waiting or under way anywhere: rate × time, by Little's law."""
    return sum(
        load.arrival_rate * ((load.waiting_ms or 0.0) + (load.network_ms or 0.0)) / 1000
        for load in seen.operators
    )
