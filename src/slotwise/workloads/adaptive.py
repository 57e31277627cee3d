"""Paper 2's workloads: the reference chain and the soccer query (Aniello, Baldoni, Querzoni)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from slotwise.model import (
    Cluster,
    FixedLoad,
    Grouping,
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

DELAYS = NetworkDelays(0.0, 0.3, 1.0, 1.0)
WORKERS = 8
"""The paper gives 30 executors at most 4 to a slot, so 8 workers."""
SLOT_MEMORY_MB = 600.0
SENSORS, SENSOR_HZ = 32, 200.0


def chain(stages: int, bolt_ms: float = 0.2, network: NetworkDelays = DELAYS) -> Pipeline:
    """A spout, `stages` - 1 bolts fed by shuffle and by fields in turn, and the ack bolt.

    Stage 0 is the spout, so there are `stages` + 1 components (30 executors are 5 stages five
    times replicated). Bolts do next to nothing: `bolt_ms` and the delays are assumed.
    """
    kinds = ["simple" if n % 2 == 0 else "stateful" for n in range(stages - 1)]
    bolts = [f"{kind}-{n // 2 + 1}" for n, kind in enumerate(kinds)]
    names = ["spout", *bolts, "ack"]
    streams = tuple(
        Stream(source, target, grouping=_grouping(target)) for source, target in pairwise(names)
    )
    operators = (
        Operator("spout", "source"),
        *(Operator(name) for name in bolts),
        Operator("ack", "sink"),
    )
    topology = Topology(f"chain-{stages}", operators, streams, workers=WORKERS)
    profiles: dict[str, Profile] = {"spout": FixedLoad(cpu=0.1, mem=0.1)}
    profiles |= {name: ServiceRate(1000 / bolt_ms, cpu=1.0, mem=0.05) for name in names[1:]}
    return _on_their_cluster(topology, profiles, network)


def chain_threads(pipeline: Pipeline, simple: int, stateful: int, spout: int) -> dict[str, int]:
    """Executors by kind of component; the ack bolt takes shuffled tuples, as simple ones do."""
    return {
        operator.name: spout
        if operator.kind == "source"
        else stateful
        if operator.name.startswith("stateful")
        else simple
        for operator in pipeline.topology.operators
    }


def soccer(bolt_ms: float = 0.1, network: NetworkDelays = DELAYS) -> Pipeline:
    """DEBS 2013, first query, reduced (section 4.2): sensors → speed → analysis."""
    topology = Topology(
        "soccer",
        (Operator("sensor", "source"), Operator("speed"), Operator("analysis", "sink")),
        (
            Stream("sensor", "speed"),
            Stream("speed", "analysis", grouping=Grouping("fields", ("player",))),
        ),
        workers=WORKERS,
    )
    busy = ServiceRate(1000 / bolt_ms, cpu=1.0, mem=0.05)
    profiles: dict[str, Profile] = {
        "sensor": FixedLoad(cpu=0.1, mem=0.1),
        "speed": busy,
        "analysis": busy,
    }
    return _on_their_cluster(topology, profiles, network)


SOCCER_THREADS = {"sensor": 8, "speed": 4, "analysis": 2}
SOCCER_RATE = SENSORS * SENSOR_HZ


def _grouping(target: str) -> Grouping:
    fields = target.startswith("stateful")
    return Grouping("fields", ("value",)) if fields else Grouping()


def _on_their_cluster(
    topology: Topology, profiles: Mapping[str, Profile], network: NetworkDelays
) -> Pipeline:
    """8 nodes with 5 slots and 3 GB each, on one switch."""
    nodes = tuple(Node(f"node-{n + 1}", 5, 3.0) for n in range(8))
    return Pipeline(
        topology,
        Profiles(profiles, SLOT_MEMORY_MB),
        cluster=Cluster(nodes, SLOT_MEMORY_MB / 1024),
        network=network,
    )
