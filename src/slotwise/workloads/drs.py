"""Paper 5's workloads (Fu et al.): logo detection in video, and a synthetic chain.

Frequent pattern detection, with its loop, is the bundled example `loop`.
"""

from __future__ import annotations

from dataclasses import replace

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

SLOTS_PER_NODE, NODE_MEMORY_GB = 5, 8.0
RESERVED = 3
"""Executors that are no bolts: two spouts and one for DRS itself."""


def video_logo_detection(nodes: int = 5, service_scv: float = 1.0) -> Pipeline:
    """Figure 4: two spouts → SIFT feature extractor → matcher → aggregator.

    The paper prints no service rates. These are assumed such that 22 processors are best divided
    10 : 11 : 1 and 17 best 8 : 8 : 1, and the model's latencies lie below and above 500 ms, all as
    there. That takes 13 frames/s from each of the two spouts.
    """
    topology = Topology(
        "video-logo-detection",
        (
            Operator("frames", "source"),
            Operator("extractor"),
            Operator("matcher"),
            Operator("aggregator", "sink"),
        ),
        (
            Stream("frames", "extractor"),
            Stream("extractor", "matcher"),
            Stream("matcher", "aggregator"),
        ),
    )
    rates = {"extractor": 4.5, "matcher": 4.15, "aggregator": 130.0}
    profiles: dict[str, Profile] = {
        name: ServiceRate(rate, service_scv=service_scv) for name, rate in rates.items()
    }
    profiles["frames"] = FixedLoad(2, cpu=0.5)
    return _on_machines(topology, profiles, nodes)


VIDEO_RATE = 2 * 13.0


def synthetic_chain(cpu_ms: float, network: NetworkDelays, nodes: int = 6) -> Pipeline:
    """Section V: three operators in a row that only compute, `cpu_ms` together."""
    names = ("first", "second", "third")
    topology = Topology(
        "synthetic-chain",
        (
            Operator("spout", "source"),
            Operator("first"),
            Operator("second"),
            Operator("third", "sink"),
        ),
        (Stream("spout", "first"), Stream("first", "second"), Stream("second", "third")),
    )
    profiles: dict[str, Profile] = {name: ServiceRate(3000 / cpu_ms) for name in names}
    profiles["spout"] = FixedLoad(1, cpu=0.1)
    return replace(_on_machines(topology, profiles, nodes), network=network)


def _on_machines(topology: Topology, profiles: dict[str, Profile], nodes: int) -> Pipeline:
    memory_gb = NODE_MEMORY_GB / SLOTS_PER_NODE
    machines = tuple(Node(f"node-{n + 1}", SLOTS_PER_NODE, NODE_MEMORY_GB) for n in range(nodes))
    return Pipeline(
        topology, Profiles(profiles, memory_gb * 1024), cluster=Cluster(machines, memory_gb)
    )
