"""Paper 2's workloads (Aniello, Baldoni, Querzoni): the reference chain with any number of stages.

The soccer query is the bundled example `soccer`, and the chain runs on the same cluster.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from slotwise.model import (
    FixedLoad,
    Goals,
    Grouping,
    Operator,
    Pipeline,
    Profile,
    ServiceRate,
    Stream,
    Topology,
)
from slotwise.spec import load

SENSORS = 32
SOCCER_THREADS = {"sensor": 8, "speed": 4, "analysis": 2}
"""Section 4.2; an allocator would need fewer for what we assume a bolt to take."""


def chain(stages: int, bolt_ms: float = 0.2) -> Pipeline:
    """A spout, `stages` - 1 bolts fed by shuffle and by fields in turn, and the ack bolt.

    Stage 0 is the spout, so there are `stages` + 1 components (30 executors are 5 stages five
    times replicated). Bolts do next to nothing: `bolt_ms` is assumed.
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
    profiles: dict[str, Profile] = {"spout": FixedLoad(cpu=0.1, mem=0.1)}
    profiles |= {name: ServiceRate(1000 / bolt_ms, cpu=1.0, mem=0.05) for name in names[1:]}
    there = load("soccer")
    return replace(
        there,
        topology=Topology(f"chain-{stages}", operators, streams, workers=there.topology.workers),
        profiles=replace(there.profiles, by_operator=profiles),
        goals=Goals(),
    )


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


def _grouping(target: str) -> Grouping:
    fields = target.startswith("stateful")
    return Grouping("fields", ("value",)) if fields else Grouping("shuffle")
