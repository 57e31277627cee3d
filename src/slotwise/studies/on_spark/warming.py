"""A first query on a cluster: Java compiles what Spark does for a tuple, in every executor.

The platform's costs are measured after as many tuples; at the few tuples/s of a study's plans Java
would compile the same only by its end.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from slotwise.model import (
    Cluster,
    FixedLoad,
    Grouping,
    Logic,
    Operator,
    Pipeline,
    Placement,
    Plan,
    Profiles,
    Stream,
    Topology,
)
from slotwise.placers.round_robin import RoundRobin
from slotwise.spark.stage import Stage
from slotwise.studies.given import given_threads, placed
from slotwise.studies.on_spark.holding import held

RATE, SECONDS = 2_000.0, 10.0
MEMORY_MB = 512.0
"""Of a slot; it decides nothing here."""
THREADS = 2
"""Of each operator."""


def warm_up(stage: Stage) -> None:
    """Without quotas, so that it takes seconds."""
    with stage.without_quota():
        held(stage, through_all_slots(stage.model), warm_up_s=SECONDS, measured_s=1.0)


def through_all_slots(cluster: Cluster) -> Plan:
    """From slot to slot, without work."""
    slots = list(range(cluster.slots))
    passing = [Operator(f"slot-{slot}", logic=Logic(expr="value")) for slot in slots]
    source = Operator("source", "source", logic=Logic(options=(("payload", "id"),)))
    operators = (source, *passing, Operator("sink", "sink", logic=Logic(expr="value")))
    names = [operator.name for operator in operators]
    streams = (
        Stream(one, other, grouping=Grouping("shuffle")) for one, other in itertools.pairwise(names)
    )
    topology = Topology("warm-up", operators, tuple(streams))
    profiles = Profiles(dict.fromkeys(names, FixedLoad(THREADS)), MEMORY_MB)
    pipeline = Pipeline(topology, profiles, cluster=cluster)
    plan = placed(pipeline, given_threads(pipeline, RATE, {}), RoundRobin())
    in_turn = [slot for slot in (0, *slots, cluster.slots - 1) for _ in range(THREADS)]
    return replace(plan, placement=Placement("given", (THREADS,) * len(names), np.array(in_turn)))
