"""Random but valid topologies, clusters and allocations, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    Grouping,
    Node,
    Operator,
    OperatorAllocation,
    Stream,
    Topology,
)
from slotwise.rates import arrival_rates

fractions = st.integers(1, 100).map(lambda n: n / 100)
groupings = st.sampled_from(["shuffle", "all", "global", "direct", "weighted"]).map(Grouping)


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
