"""Random plans with everything a plan can hold, for hypothesis."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from slotwise.model import (
    Cluster,
    CommunicationSchedule,
    Observation,
    OperatorLoad,
    Placement,
    Plan,
    Prediction,
    SlotLoad,
    StreamLoad,
    Topology,
)
from slotwise.testing.strategies import allocations, clusters, fractions
from tests.strategies import names, not_negative, pipelines, positive

figures = not_negative | st.just(math.inf)
"""What a prediction may say: an overloaded operator waits forever."""


@st.composite
def predictions(draw: st.DrawFn, of: Topology, on: Cluster) -> Prediction:
    loads = [f"{i}" for i in range(on.slots)]
    return Prediction(
        origin=draw(st.sampled_from(["predicted", "simulated", "measured"])),
        **{
            name: draw(figures)
            for name in (
                "offered_rate",
                "throughput",
                "capacity",
                "busiest",
                "proportional_capacity",
                "shuffle_capacity",
                "sojourn_ms",
                "shared_queue_sojourn_ms",
                "network_ms",
                "cost_per_hour",
                "inter_slot_traffic",
                "inter_node_traffic",
            )
        },
        **{
            name: draw(figures) if of.ends else None
            for name in (
                "latency_ms",
                "latency_p50_ms",
                "latency_p95_ms",
                "latency_p99_ms",
                "shared_queue_latency_ms",
            )
        },
        operators=tuple(
            OperatorLoad(o.name, *(draw(figures) for _ in range(10))) for o in of.operators
        ),
        streams=tuple(
            StreamLoad(stream.source, stream.target, draw(figures), draw(figures))
            for stream in of.streams
        ),
        stable=draw(st.booleans()),
        slots=tuple(SlotLoad(name, draw(figures), draw(figures)) for name in loads),
        nodes=tuple(SlotLoad(node.name, draw(figures), draw(figures)) for node in on.nodes),
        bottleneck=draw(names),
    )


@st.composite
def simulations(draw: st.DrawFn) -> Observation:
    """In short, as a plan has it."""
    return Observation(
        origin="simulated",
        seed=draw(st.integers(0, 2**31)),
        **{
            name: draw(not_negative)
            for name in (
                "start_s",
                "end_s",
                "offered_rate",
                "busiest",
                "cost_per_hour",
                "inter_slot_traffic",
                "inter_node_traffic",
            )
        },
        **{
            name: draw(st.none() | not_negative)
            for name in (
                "throughput",
                "capacity",
                "backlog",
                "latency_ms",
                "latency_p50_ms",
                "latency_p95_ms",
                "latency_p99_ms",
                "latency_slope",
                "sojourn_ms",
                "sojourn_margin_ms",
                "network_ms",
            )
        },
        stable=draw(st.booleans()),
        bottleneck=draw(names),
        operators=(),
        streams=(),
        slots=(),
        nodes=(),
        remarks=tuple(draw(st.lists(names, max_size=2))),
    )


@st.composite
def written_plans(draw: st.DrawFn) -> Plan:
    """Any plan with every thread somewhere; nothing is said of its sense."""
    pipeline = draw(pipelines())
    allocation = draw(allocations(pipeline.topology))
    cluster = pipeline.cluster or draw(clusters())
    total = allocation.total_threads
    slots = st.lists(st.integers(0, cluster.slots - 1), min_size=total, max_size=total)
    sentences = st.lists(st.text(max_size=10), max_size=2).map(tuple)
    senders = st.integers(1, 3).map(lambda n: np.arange(2 * n).reshape(2, n))
    counts = st.integers(0, 9)
    placement = Placement(
        draw(names),
        tuple(allocation.threads.tolist()),
        np.array(draw(slots)),
        draw(sentences),
        draw(st.none() | st.builds(CommunicationSchedule, senders, counts, counts)),
        draw(st.none() | counts),
    )
    return Plan(
        pipeline,
        draw(positive),
        allocation,
        cluster,
        slots=draw(st.integers(1, 99)),
        extra_slots=draw(st.integers(0, 9)),
        placement=placement,
        weights={
            entry.operator: tuple(draw(fractions) for _ in range(entry.threads))
            for entry in allocation
        },
        predicted=draw(st.none() | predictions(pipeline.topology, cluster)),
        simulated=draw(st.none() | simulations()),
        reasons=draw(sentences),
        warnings=draw(sentences),
    )
