"""Paper 5's workloads (Fu et al.) where a study varies them: VLD's service times, and a synthetic
chain on VLD's machines.

Video logo detection is the bundled example `vld`; frequent pattern detection, with its loop, is
`loop` (`fpd` computes the same patterns without one).
"""

from __future__ import annotations

from dataclasses import replace

from slotwise.model import (
    Cluster,
    FixedLoad,
    Goals,
    Grouping,
    NetworkDelays,
    Operator,
    Pipeline,
    Profile,
    ServiceRate,
    Stream,
    Topology,
)
from slotwise.model.profile import with_variation
from slotwise.spec import load

RESERVED = 3
"""Executors that are no bolts: two spouts and one for DRS itself."""


def video_logo_detection(service_scv: float = 1.0) -> Pipeline:
    """`vld` with service times of that squared coefficient of variation."""
    vld = load("vld")
    profiles = {
        name: with_variation(profile, service_scv=service_scv)
        for name, profile in vld.profiles.by_operator.items()
    }
    return replace(vld, profiles=replace(vld.profiles, by_operator=profiles))


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
        tuple(
            Stream(source, target, grouping=Grouping("shuffle"))
            for source, target in (("spout", "first"), ("first", "second"), ("second", "third"))
        ),
    )
    profiles: dict[str, Profile] = {name: ServiceRate(3000 / cpu_ms) for name in names}
    profiles["spout"] = FixedLoad(1, cpu=0.1)
    vld = load("vld")
    return replace(
        vld,
        topology=topology,
        profiles=replace(vld.profiles, by_operator=profiles),
        cluster=_machines(vld, nodes),
        network=network,
        goals=Goals(),
    )


def slots_per_machine() -> int:
    """Executors that one of the paper's machines holds."""
    cluster = load("vld").cluster
    assert cluster is not None
    return cluster.nodes[0].slots


def _machines(pipeline: Pipeline, nodes: int) -> Cluster:
    """So many of the pipeline's machines."""
    cluster = pipeline.cluster
    assert cluster is not None
    one = cluster.nodes[0]
    machines = tuple(replace(one, name=f"node-{n + 1}") for n in range(nodes))
    return replace(cluster, nodes=machines)
