"""Plans to run, in one line: threads and slots as the test says, logic by operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from slotwise.model import (
    Cluster,
    FixedLoad,
    Grouping,
    Logic,
    Pipeline,
    Placement,
    Plan,
    Profiles,
    Topology,
)
from slotwise.model.pipeline import Engine
from tests import builders

PASS = Logic(expr="value")


def topology(
    *streams: str,
    logic: Mapping[str, Logic] | None = None,
    groupings: Mapping[str, Grouping] | None = None,
    name: str = "test",
) -> Topology:
    """As builders.topology; groupings by `a>b`; whoever feeds nobody is a sink."""
    plain = builders.topology(*streams, name=name)
    feeding = {stream.source for stream in plain.streams}
    operators = tuple(
        replace(
            operator,
            kind=operator.kind if operator.name in feeding else "sink",
            logic=(logic or {}).get(operator.name, Logic()),
        )
        for operator in plain.operators
    )
    given = groupings or {}
    linked = tuple(
        replace(s, grouping=given.get(f"{s.source}>{s.target}", s.grouping)) for s in plain.streams
    )
    return Topology(name, operators, linked)


def plan(
    of: Topology,
    threads: Mapping[str, int] | int = 1,
    *,
    on: Cluster | None = None,
    slots: Sequence[int] | None = None,
    rate: float = 100.0,
    weights: Mapping[str, tuple[float, ...]] | None = None,
    engine: Engine = "auto",
) -> Plan:
    """Threads round-robin over the slots of `on`, unless `slots` says where each one is."""
    on = on or builders.cluster(2, 1)
    counts = {
        o.name: threads if isinstance(threads, int) else threads.get(o.name, 1)
        for o in of.operators
    }
    allocation = builders.allocation(of, counts, rate=rate)
    places = np.arange(allocation.total_threads) % on.slots if slots is None else np.array(slots)
    profiles = Profiles({o.name: FixedLoad() for o in of.operators}, on.slot_memory_gb * 1024)
    even = {name: (1 / count,) * count for name, count in counts.items()}
    return Plan(
        pipeline=Pipeline(of, profiles, cluster=on, engine=engine),
        rate=rate,
        allocation=allocation,
        cluster=on,
        slots=on.slots,
        extra_slots=0,
        placement=Placement("test", tuple(counts.values()), places),
        weights={**even, **(weights or {})},
    )
