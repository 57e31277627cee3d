"""Where operators are measured: a slot with a CPU quota, and room outside it for all the rest.

    node `tested`    slot 0: the operator under test      slot 1: neighbours on the same node
    node `outside`   slot 2: its input and its next hop, without a quota

One cluster and one session serve all trials: each is a query of its own. The driver is outside the
quota as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from slotwise.model import (
    Allocation,
    Bundle,
    Cluster,
    FixedLoad,
    Node,
    OperatorAllocation,
    Pipeline,
    Placement,
    Plan,
    Profiles,
    Schedule,
    SlotwiseError,
    Topology,
)
from slotwise.model.pipeline import Engine
from slotwise.profilers.case import NEXT_HOP, REPLAY, Case
from slotwise.profilers.trial import Distance
from slotwise.spark.metering.meters import ExecutorMeter
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Run
from slotwise.spark.stage import Stage, stage

TESTED, SLOTS = 0, {"slot": 0, "node": 1, "cluster": 2}
"""The slot under test; per distance, a slot that is so far from it."""
MOST_THREADS = 256


@dataclass(frozen=True)
class Idle:
    """What an executor takes that has a thread and no tuples."""

    cpu_cores: float = 0.0
    memory_mb: float = 0.0


@dataclass
class Bench(Stage):
    """The stage with a slot under test, and what that takes when idle; `cores` is its quota."""

    idle: Idle = Idle()

    @contextmanager
    def running(
        self,
        case: Case,
        threads: int,
        rate: float,
        *,
        schedule: Schedule | None = None,
        meters: bool = True,
        source: Distance = "cluster",
        next_hop: Distance = "cluster",
    ) -> Iterator[Run]:
        """The case's query with so many threads of its operator in the slot under test, at `rate`
        tuples/s, as `schedule` changes it; it and its checkpoint are gone afterwards.
        """
        plan = self._plan_of(case, threads, rate, source, next_hop)
        options = self.options(schedule=schedule, work="none", meters=meters)
        with self.query(outline(plan, case.bound), options) as run:
            yield run

    def executor(self) -> ExecutorMeter:
        """The last report of the executor under test. Raises SlotwiseError if it is gone."""
        found = self.executors().get(TESTED)
        if found is None:
            raise SlotwiseError("the executor of the slot under test is gone")
        return found

    def plan_outside(self, topology: Topology, engine: Engine, rate: float, threads: int) -> Plan:
        """All operators outside the quota, those between sources and sinks with so many threads, an
        aggregate with no more than it has key groups.
        """
        counts = [
            min(threads, operator.logic.key_groups if operator.logic.is_keyed else threads)
            if operator.kind == "operator"
            else 1
            for operator in topology.operators
        ]
        return self._plan(topology, engine, rate, counts, [SLOTS["cluster"]] * len(counts))

    def _plan_of(
        self, case: Case, threads: int, rate: float, source: Distance, next_hop: Distance
    ) -> Plan:
        topology = case.topology()
        places = {case.name: TESTED, REPLAY: SLOTS[source], NEXT_HOP: SLOTS[next_hop]}
        names = [operator.name for operator in topology.operators]
        counts = [threads if name == case.name else 1 for name in names]
        return self._plan(topology, case.engine, rate, counts, [places[name] for name in names])

    def _plan(
        self,
        topology: Topology,
        engine: Engine,
        rate: float,
        counts: Sequence[int],
        slots: Sequence[int],
    ) -> Plan:
        """Per operator, its number of threads, and the slot that all of them are in."""
        names = [operator.name for operator in topology.operators]
        profiles = Profiles(dict.fromkeys(names, FixedLoad()), float(self.slot_memory_mb))
        entries = tuple(
            OperatorAllocation(name, rate, (Bundle(1, 0.0, 0.0),) * count, "for a trial")
            for name, count in zip(names, counts, strict=True)
        )
        return Plan(
            pipeline=Pipeline(topology, profiles, cluster=self.model, engine=engine),
            rate=rate,
            allocation=Allocation("profile", rate, entries),
            cluster=self.model,
            slots=self.model.slots,
            extra_slots=0,
            placement=Placement("profile", tuple(counts), np.repeat(slots, counts)),
            weights={name: (1 / n,) * n for name, n in zip(names, counts, strict=True)},
        )


@contextmanager
def bench(
    cores: float | None = 1.0,
    slot_memory_mb: int = 512,
    libraries: Mapping[str, str] | None = None,
) -> Iterator[Bench]:
    """A cluster of its own on this machine; `cores` is the quota of the slot under test, and
    `libraries` has settings for Java libraries.

    Raises SlotwiseError where quotas are not permitted; None: measure without one.
    """
    memory_gb = slot_memory_mb / 1024
    model = Cluster((Node("tested", 2, 2 * memory_gb), Node("outside", 1, memory_gb)), memory_gb)
    with stage(
        model,
        threads_per_slot=MOST_THREADS,
        slot_memory_mb=slot_memory_mb,
        cores=cores,
        without_quota=("outside",),
        name="slotwise profile",
        conf=libraries,
    ) as on:
        yield Bench(on.spark, on.model, on.folder, cores, slot_memory_mb, on.quota)
