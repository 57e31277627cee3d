"""Paper 4's workloads (Tantalaki, Souravlas, Roumeliotis, Katsavounis): all bolts alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotwise.model import (
    Cluster,
    FixedLoad,
    NetworkDelays,
    Node,
    Operator,
    Pipeline,
    Profile,
    Profiles,
    ServiceRate,
    Stream,
    Topology,
)

SLOTS_PER_NODE, NODE_MEMORY_GB, NODES_PER_RACK = 4, 1.0, 3
BUFFER_TUPLES = 4096
"""32 Mb per task hold about 4K tuples of 8 Kb."""
TUPLE_BYTES, BANDWIDTH_MB_PER_S = 8192.0, 12.5
"""8 Kb, read as kilobytes since the paper's smaller tuples have 1 KB; 100 Mbps."""
BOLT_MS = 0.25


@dataclass(frozen=True)
class Case:
    """A pipeline with the paper's thread counts."""

    name: str
    pipeline: Pipeline
    threads: dict[str, int]


def random_topology(threads: int = 6) -> Case:
    """Figure 2: one spout, four bolts (0→1, 1→2, 1→3, 2→4, 3→4), on 9 nodes."""
    return _case("random", "0>1 1>2 1>3 2>4 3>4", [threads] * 5, nodes=9)


def linear(threads: int = 4) -> Case:
    """Figure 6: one spout and three bolts in a row, on 8 nodes."""
    return _case("linear", "0>1 1>2 2>3", [threads] * 4, nodes=8)


def diamond() -> Case:
    """Figure 16 (a): spout, two bolts side by side, sink; 10 tasks each, on 8 nodes."""
    return _case("diamond", "0>1 0>2 1>3 2>3", [10] * 4, nodes=8)


def tapering() -> Case:
    """Figure 16 (b): one spout and four bolts with 16, 16, 8, 4 and 1 tasks, on 8 nodes.

    The paper says nothing of selectivity. With 1, the single last task would limit all others to
    a sixteenth of what they can do; here each stage passes on as much as the next can take.
    """
    counts = [16, 16, 8, 4, 1]
    return _case("linear 16-16-8-4-1", "0>1 1>2:0.5 2>3:0.5 3>4:0.25", counts, nodes=8)


def _case(name: str, streams: str, threads: Sequence[int], nodes: int) -> Case:
    """`streams`: source>target[:selectivity], by component number; 0 is the spout.

    A bolt takes 1 ms, a whole core while it works, and more than half of a slot's memory, so that
    R-Storm gives each its own slot (assumed). "Nodes with close ids are placed
    more closely": three consecutive nodes share a rack.
    """
    parsed = [_stream(text) for text in streams.split()]
    sending = {stream.source for stream in parsed}
    names = [_name(n) for n in range(len(threads))]
    operators = tuple(
        Operator(each, "source" if each == names[0] else "operator" if each in sending else "sink")
        for each in names
    )
    bolt = ServiceRate(1000 / BOLT_MS, cpu=1.0, mem=0.6)
    profiles: dict[str, Profile] = dict.fromkeys(names[1:], bolt)
    profiles[names[0]] = FixedLoad(threads[0], mem=0.1 * threads[0])
    memory_gb = NODE_MEMORY_GB / SLOTS_PER_NODE
    cluster = Cluster(
        tuple(
            Node(f"node-{n}", SLOTS_PER_NODE, NODE_MEMORY_GB, rack=f"rack-{n // NODES_PER_RACK}")
            for n in range(nodes)
        ),
        memory_gb,
    )
    pipeline = Pipeline(
        Topology(name, operators, tuple(parsed)),
        Profiles(profiles, memory_gb * 1024),
        cluster=cluster,
        network=NetworkDelays(0.0, 0.05, 0.2, 0.4),
    )
    return Case(name, pipeline, dict(zip(names, threads, strict=True)))


def _name(component: int) -> str:
    return "spout" if component == 0 else f"bolt-{component}"


def _stream(text: str) -> Stream:
    ends, _, selectivity = text.partition(":")
    source, target = (_name(int(end)) for end in ends.split(">"))
    return Stream(source, target, float(selectivity or 1))
