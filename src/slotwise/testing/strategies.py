"""Random but valid topologies, clusters, allocations and pipelines, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    FixedLoad,
    Grouping,
    Node,
    Operator,
    OperatorAllocation,
    Pipeline,
    Profiles,
    ServiceRate,
    Stream,
    TaskCosts,
    ThreadRow,
    ThreadTable,
    Topology,
    VmType,
)
from slotwise.model.topology import GroupingKind
from slotwise.rates import arrival_rates

fractions = st.integers(1, 100).map(lambda n: n / 100)
_KINDS: tuple[GroupingKind, ...] = ("shuffle", "all", "global", "direct", "weighted")
groupings = st.sampled_from(_KINDS).map(Grouping)


@st.composite
def topologies(draw: st.DrawFn, largest: int = 8) -> Topology:
    """A DAG in which every operator hangs on an earlier one, with one or two sources."""
    size = draw(st.integers(2, largest))
    sources = draw(st.integers(1, min(2, size - 1)))
    streams = []
    for target in range(sources, size):
        senders = draw(st.sets(st.integers(0, target - 1), min_size=1, max_size=3))
        streams += [
            Stream(
                f"o{sender}", f"o{target}", draw(st.sampled_from([0.5, 1.0, 2.0])), draw(groupings)
            )
            for sender in sorted(senders)
        ]
    operators = tuple(
        Operator(f"o{i}", "source" if i < sources else "operator") for i in range(size)
    )
    return Topology("random", operators, tuple(streams))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = draw(st.integers(1, 6))
    return Cluster(
        tuple(
            Node(
                f"n{i}",
                slots := draw(st.integers(1, 4)),
                3.5 * slots,
                speed=draw(st.sampled_from([1.0, 1.0, 2.0])),
                rack=f"r{draw(st.integers(0, 1))}",
            )
            for i in range(nodes)
        ),
        slot_memory_gb=3.5,
    )


@st.composite
def allocations(draw: st.DrawFn, of: Topology) -> Allocation:
    """One to three bundles per operator, some of them full."""
    rate = float(draw(st.integers(1, 1000)))
    entries = []
    threads = []
    for operator in of.operators:
        size = draw(st.integers(1, 4))
        full = draw(st.integers(0, 2))
        rest = draw(st.integers(0 if full else 1, size))
        bundles = (Bundle(size, 1.0, 1.0, full=True),) * full
        if rest:
            bundles += (Bundle(rest, draw(fractions), draw(fractions)),)
        entries.append((operator.name, bundles))
        threads.append(full * size + rest)
    arriving = arrival_rates(of, rate, threads).operators
    return Allocation(
        "random",
        rate,
        tuple(
            OperatorAllocation(name, float(arriving[i]), bundles, "drawn")
            for i, (name, bundles) in enumerate(entries)
        ),
    )


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
def catalogs(draw: st.DrawFn) -> tuple[VmType, ...]:
    """One to three machine types, not equally roomy, fast and cheap."""
    types = []
    for position in range(draw(st.integers(1, 3))):
        slots = draw(st.integers(1, 5))
        slot_memory_gb = draw(st.sampled_from([2.0, 4.0, 8.0]))
        price = draw(st.integers(1, 50)) / 10
        speed = draw(st.sampled_from([0.5, 1.0, 2.0]))
        types.append(VmType(f"T{position}", slots, slot_memory_gb * slots, price, speed))
    return tuple(types)
