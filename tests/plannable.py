"""Random pipelines of everyday size, and plans on them, for hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from slotwise.model import (
    FixedLoad,
    Pipeline,
    Placement,
    Plan,
    Profiles,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.predictors import weights
from tests.strategies import allocations, clusters, fractions, topologies

moderate = st.integers(1, 400).map(lambda n: n / 4)
"""Rates per thread at which a random pipeline needs tens of threads, not millions."""
moderate_profiles = st.one_of(
    st.lists(st.integers(1, 20), min_size=1, max_size=4, unique=True).flatmap(
        lambda counts: st.tuples(
            *(
                st.builds(ThreadRow, st.just(n), moderate, fractions, fractions)
                for n in sorted(counts)
            )
        ).map(ThreadTable)
    ),
    st.builds(TaskCosts, moderate.map(lambda n: n / 10), fractions, fractions, moderate),
    st.builds(ServiceRate, moderate, fractions, fractions, moderate, moderate),
    st.builds(FixedLoad, st.integers(1, 3), fractions, fractions),
)


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """A random topology and cluster with profiles of everyday size."""
    topology = draw(topologies())
    cluster = draw(clusters())
    by_operator = {o.name: draw(moderate_profiles) for o in topology.operators}
    memory_mb = cluster.slot_memory_gb * 1024
    return Pipeline(topology, Profiles(by_operator, memory_mb), cluster=cluster)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Threads of a plannable pipeline anywhere on its cluster, with the weights for that."""
    pipeline = draw(pipelines())
    assert pipeline.cluster is not None
    cluster = pipeline.cluster
    allocation = draw(allocations(pipeline.topology))
    slot = st.integers(0, cluster.slots - 1)
    places = draw(
        st.lists(slot, min_size=allocation.total_threads, max_size=allocation.total_threads)
    )
    placement = Placement("random", tuple(allocation.threads.tolist()), np.array(places))
    return Plan(
        pipeline=pipeline,
        rate=allocation.rate,
        allocation=allocation,
        cluster=cluster,
        slots=cluster.slots,
        extra_slots=0,
        placement=placement,
        weights=weights(pipeline, cluster, placement),
    )
