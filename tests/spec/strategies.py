"""Random plans with everything a plan can hold, for hypothesis."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from slotwise.model import (
    Cluster,
    CommunicationSchedule,
    OperatorLoad,
    Placement,
    Plan,
    Prediction,
    SlotLoad,
    Topology,
)
from tests.strategies import (
    allocations,
    clusters,
    fractions,
    names,
    not_negative,
    pipelines,
    positive,
)

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
                "input_rate",
                "rate",
                "latency_ms",
                "network_ms",
                "inter_slot_traffic",
                "inter_node_traffic",
                "proportional_rate",
                "shuffle_rate",
                "thread_queues_ms",
            )
        },
        operators=tuple(
            OperatorLoad(o.name, *(draw(figures) for _ in range(5))) for o in of.operators
        ),
        slots=tuple(SlotLoad(name, draw(figures), draw(figures)) for name in loads),
        nodes=tuple(SlotLoad(node.name, draw(figures), draw(figures)) for node in on.nodes),
        bottleneck=draw(names),
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
        reasons=draw(sentences),
    )
