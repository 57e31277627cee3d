"""Random plans on pipelines of everyday size, for hypothesis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from slotwise.model import Allocation, Pipeline, Placement, Plan
from slotwise.testing.strategies import allocations, pipelines
from slotwise.weights import weights


@st.composite
def placed_anywhere(draw: st.DrawFn, pipeline: Pipeline, allocation: Allocation) -> Plan:
    """Every thread in any slot of the pipeline's cluster; without weights."""
    assert pipeline.cluster is not None
    threads = tuple(allocation.threads.tolist())
    slot = st.integers(0, pipeline.cluster.slots - 1)
    slots = draw(st.lists(slot, min_size=sum(threads), max_size=sum(threads)))
    return Plan(
        pipeline=pipeline,
        rate=allocation.rate,
        allocation=allocation,
        cluster=pipeline.cluster,
        slots=pipeline.cluster.slots,
        extra_slots=0,
        placement=Placement("random", threads, np.array(slots)),
        weights={},
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Threads of a plannable pipeline anywhere on its cluster, with the weights for that."""
    pipeline = draw(pipelines())
    plan = draw(placed_anywhere(pipeline, draw(allocations(pipeline.topology))))
    return replace(plan, weights=weights(pipeline, plan.cluster, plan.placement))
