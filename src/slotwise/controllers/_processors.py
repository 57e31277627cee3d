"""Processors of machines: how many threads a cluster holds, and which machines hold so many.

Paper 5 counts processors: a thread that is always busy has one to itself. A slot holds as many
threads as it has CPU and memory for, when all are busy: one, where a thread fills a core.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from slotwise import registry
from slotwise.allocators.drs import Drs
from slotwise.controllers._plans import in_pipeline, placer_of, provisioner_of
from slotwise.fitting import answered, first_true
from slotwise.model import Allocation, Cluster, ModelError, Pipeline, Plan, Refusal, Refused, whole
from slotwise.model.profiles import MOST_THREADS_PER_SLOT
from slotwise.planner import Request

TRIES = 5
"""Processors that are given up when a placer finds no slots for all."""


@dataclass(frozen=True)
class Processors:
    """The plan in effect, what was measured of its pipeline, and how many slots are kept from
    processors.
    """

    plan: Plan
    pipeline: Pipeline
    """As it is measured to be."""
    rate: float
    reserved: int

    def divided(self, processors: int) -> Allocation | Refusal:
        """Program 4: so many, divided best."""
        return self._allocated(Drs(processors=processors))

    def fewest(self, latency_ms: float) -> Allocation | Refusal:
        """Program 6: the fewest with a mean sojourn time of at most that."""
        return self._allocated(Drs(latency_ms=latency_ms))

    def _allocated(self, program: Drs) -> Allocation | Refusal:
        pipeline = self.pipeline
        return program.allocate(pipeline.topology, pipeline.profiles, self.rate, pipeline.goals)

    def count(self, allocation: Allocation) -> int:
        fixed = self.pipeline.profiles.fixed
        return sum(entry.threads for entry in allocation if not fixed(entry.operator))

    def slots(self, allocation: Allocation) -> int:
        """Slots that it takes, the reserved ones included."""
        busy = [e for e in allocation if not self.pipeline.profiles.fixed(e.operator)]
        taken = max(sum(entry.cpu for entry in busy), sum(entry.mem for entry in busy))
        return max(allocation.slots, whole(taken) + self.reserved)

    def machines(self, allocation: Allocation, slots: int = 0) -> Cluster:
        """Those in effect where they are enough, for at least so many slots. Else the fewest that
        are, or as many as the budget allows.
        """
        needed, before = max(self.slots(allocation), slots), self.plan.cluster
        if needed <= before.slots:
            return before
        few = self.fewest_machines(allocation, needed)
        if self._allowed(few):
            return few
        too_many = first_true(
            before.slots,
            needed,
            lambda slots: not self._allowed(self.fewest_machines(allocation, slots)),
        )
        assert too_many is not None
        return (
            before if too_many <= before.slots else self.fewest_machines(allocation, too_many - 1)
        )

    def growing(self, allocation: Allocation, steps: int) -> Iterator[Cluster]:
        """The machines in effect, or more that are needed, and then larger ones step by step."""
        cluster = self.machines(allocation)
        for _ in range(steps):
            yield cluster
            larger = self.machines(allocation, cluster.slots + 1)
            if larger.slots <= cluster.slots:
                return
            cluster = larger

    def fewest_machines(self, allocation: Allocation, slots: int) -> Cluster:
        """Bought, or the first ones of those that are given: all, if they are too few."""
        given = self.pipeline.cluster
        if given is None:
            buyer = registry.provisioner(provisioner_of(self.plan))
            return answered(
                buyer.provision(
                    allocation, self.pipeline.catalog, self.pipeline.slot_memory_gb, slots
                )
            )
        enough = first_true(1, len(given.nodes), lambda n: _first(given, n).slots >= slots)
        return _first(given, enough or len(given.nodes))

    def _allowed(self, cluster: Cluster) -> bool:
        most = self.pipeline.goals.machines
        return most is None or len(cluster.nodes) <= most

    def all_of(self, cluster: Cluster) -> Plan:
        """As many processors as the machines have, divided best; see `placed`. Raises Refused."""
        most = self._most(cluster)
        for processors in range(most, max(most - TRIES, 0), -1):
            try:
                return self.placed(answered(self.divided(processors)), cluster)
            except Refused as error:
                refused = error
                if error.refusal.final:
                    break
        raise refused

    def _most(self, cluster: Cluster) -> int:
        """How many fit; one fewer than keep up, if not even those do: then Program 4 says so."""

        def too_many(processors: int) -> bool:
            try:
                made = self.divided(processors)
            except ModelError:  # more threads behind an `all` stream would feed a loop for ever
                return True
            return not isinstance(made, Refusal) and self.slots(made) > cluster.slots

        first = first_true(1, self._limit(cluster), too_many)
        return self._limit(cluster) if first is None else max(first - 1, 1)

    def _limit(self, cluster: Cluster) -> int:
        """No more fit in, since each takes its part of a slot."""
        profiles, operators = self.pipeline.profiles, self.pipeline.topology.operators
        services = [profiles.service(o.name) for o in operators if not profiles.fixed(o.name)]
        least = min((max(each.cpu, each.mem) for each in services), default=1.0)
        return math.ceil(cluster.slots / max(least, 1 / MOST_THREADS_PER_SLOT)) + 1

    def placed(self, allocation: Allocation, cluster: Cluster) -> Plan:
        """On exactly these machines, and as measured: see `given`. Raises Refused."""
        here = replace(self.pipeline, catalog=(), cluster=cluster)
        request = Request(here, self.rate, self.plan.pipeline.scheduler, self.plan)
        return request.place(allocation, provisioner_of(self.plan), placer_of(self.plan))

    def given(self, plan: Plan) -> Plan:
        """The plan for a deployment: with the pipeline's own topology and machines, and profiles as
        measured.
        """
        return in_pipeline(plan, replace(self.plan.pipeline, profiles=self.pipeline.profiles))


def _first(cluster: Cluster, count: int) -> Cluster:
    return replace(cluster, nodes=cluster.nodes[:count])
