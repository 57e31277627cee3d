"""Topologies, clusters and allocations in one line, for tests and benchmarks."""

from __future__ import annotations

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    Node,
    Operator,
    OperatorAllocation,
    Stream,
    Topology,
)
from slotwise.rates import arrival_rates


def topology(*streams: str, name: str = "test", workers: int | None = None) -> Topology:
    """`topology("a>b", "b>c:0.5", "c>b:0.1!")`: names without inputs are sources, `:` gives the
    selectivity, `!` marks a loop.
    """
    parsed = [_stream(text) for text in streams]
    names = dict.fromkeys(name for stream in parsed for name in (stream.source, stream.target))
    fed = {stream.target for stream in parsed}
    operators = tuple(Operator(n, "operator" if n in fed else "source") for n in names)
    return Topology(name, operators, tuple(parsed), workers)


def chain(length: int) -> Topology:
    """o0 > o1 > … : `length` operators in a row, the first a source."""
    return topology(*(f"o{i}>o{i + 1}" for i in range(length - 1)))


def cluster(nodes: int, slots: int = 4, racks: int = 1) -> Cluster:
    """`nodes` equal nodes n0, n1, …, spread over `racks` in consecutive groups."""
    per_rack = -(-nodes // racks)
    return Cluster(
        tuple(Node(f"n{i}", slots, 3.5 * slots, rack=f"r{i // per_rack}") for i in range(nodes)),
        slot_memory_gb=3.5,
    )


def allocation(
    of: Topology, threads: dict[str, int], cpu: float = 0.1, mem: float = 0.1, rate: float = 100.0
) -> Allocation:
    """Single-thread bundles, `cpu` and `mem` each."""
    arriving = arrival_rates(of, rate).operators
    return Allocation(
        "test",
        rate,
        tuple(
            OperatorAllocation(
                operator.name,
                float(arriving[position]),
                (Bundle(1, cpu, mem),) * threads[operator.name],
                "as the test says",
            )
            for position, operator in enumerate(of.operators)
        ),
    )


def _stream(text: str) -> Stream:
    loop = text.endswith("!")
    ends, _, selectivity = text.rstrip("!").partition(":")
    source, _, target = ends.partition(">")
    return Stream(source, target, float(selectivity or 1), loop=loop)
