"""The machines of a session: nodes are added while a query runs, and given back.

A node is a host with an executor per slot. On an embedded cluster it is a worker of our own, which
is started for the node and ended after; on an existing master it is wherever the master starts the
executors that it is asked for.

    add(cluster)    before a change: what the new plan has and the session has not
    hosts(cluster)  with the change: the host of each of its slots
    keep(cluster)   after it, whether it was made or not: nothing else is left
    revive()        after a failure: nodes that were lost are started again

Executors are requested from the master by their number, and given back by their ids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slotwise import model
from slotwise.model import SlotwiseError, counted
from slotwise.spark.cluster.executors import living, scheduler, unbound
from slotwise.spark.cluster.matching import Matching
from slotwise.spark.cluster.processes import Daemons
from slotwise.spark.cluster.standalone import (
    MOST_NODES,
    SparkCluster,
    check_memory,
    worker_host,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_S = 60.0
"""A node that is added must have its executors after this time; it takes about 10 s."""

Wait = Callable[[Callable[[], bool], float], bool]
"""wait(holds, seconds): whether it holds within that time. What it raises ends the wait."""


@dataclass
class Machines(ABC):
    """The nodes that a session has, and where each of them is."""

    spark: SparkSession
    cluster: SparkCluster
    """As it was when the session began."""
    host_of: dict[model.Node, str] = field(default_factory=dict)
    requested: int = 0
    """Executors that the master was last asked for."""

    def add(self, cluster: model.Cluster, wait: Wait) -> tuple[model.Node, ...]:
        """Start the nodes that `cluster` has and the session has not, and wait until they have
        their executors; which these are. Raises SlotwiseError if one does not come up; `keep` then
        ends those that did.
        """
        missing = tuple(node for node in cluster.nodes if not self._has(node))
        if missing:
            self._add(missing, wait)
        return missing

    def hosts(self, cluster: model.Cluster) -> tuple[str, ...]:
        """The host of each slot of `cluster`, whose nodes the session has."""
        return tuple(self.host_of[cluster.nodes[node]] for node in cluster.slot_node.tolist())

    def keep(self, cluster: model.Cluster) -> tuple[model.Node, ...]:
        """Give back all nodes but those of `cluster`, which is in effect; which these were."""
        others = tuple(node for node in self.host_of if node not in cluster.nodes)
        if others or self.requested != cluster.slots:
            self._request(cluster.nodes)
            self.release_unbound()
        for node in others:
            self._end(self.host_of.pop(node))
        return others

    def revive(self) -> tuple[model.Node, ...]:
        """Start again the nodes that were lost, and wait for nothing; which these are. Lost nodes
        of an existing master are for others to start.
        """
        return ()

    def release_unbound(self) -> None:
        """Give back the executors that stand for no slot: also those that came too late."""
        if executors := unbound(self.spark):
            scheduler(self.spark).release(",".join(executors))

    def _request(self, nodes: Iterable[model.Node], more: int = 0) -> None:
        """Executors for all slots of these nodes, and so many more."""
        self.requested = sum(node.slots for node in nodes) + more
        scheduler(self.spark).request(self.requested)

    @abstractmethod
    def _has(self, node: model.Node) -> bool:
        """Whether the node is there, as far as that is known."""

    @abstractmethod
    def _add(self, nodes: Sequence[model.Node], wait: Wait) -> None: ...

    @abstractmethod
    def _end(self, host: str) -> None:
        """After its executors were given back."""


@dataclass
class OwnMachines(Machines):
    """Workers of an embedded cluster."""

    @property
    def daemons(self) -> Daemons:
        assert self.cluster.daemons is not None
        return self.cluster.daemons

    def _has(self, node: model.Node) -> bool:
        return node in self.host_of and self.daemons.runs(self.host_of[node])

    def revive(self) -> tuple[model.Node, ...]:
        lost = tuple(node for node in self.host_of if not self._has(node))
        for node in lost:
            self.daemons.start(self.cluster.worker(node, self.host_of[node]))
        return lost

    def _add(self, nodes: Sequence[model.Node], wait: Wait) -> None:
        check_memory(nodes, self.cluster.slot_memory_mb)
        # A worker that has ended makes room for another one.
        hosts = map(worker_host, range(MOST_NODES))
        free = [host for host in hosts if not self.daemons.runs(host)]
        if len(free) < len(nodes):
            raise SlotwiseError(f"an embedded cluster has at most {MOST_NODES} nodes")
        for node, host in zip(nodes, free, strict=False):
            self.host_of[node] = host
            self.daemons.start(self.cluster.worker(node, host))
        self._request(self.host_of)
        if not wait(lambda: all(map(self._is_up, nodes)), START_S):
            late = next(node for node in nodes if not self._is_up(node))
            raise SlotwiseError(
                f"node '{late.name}' has {self._executors()[self.host_of[late]]} of "
                f"{late.slots} executors after {START_S:g} s: "
                f"{self.daemons.complaint(self.host_of[late])}"
            )

    def _is_up(self, node: model.Node) -> bool:
        host = self.host_of[node]
        if not self.daemons.runs(host):
            raise SlotwiseError(
                f"the worker of node '{node.name}' ended during its start-up: "
                f"{self.daemons.complaint(host)}"
            )
        return self._executors()[host] >= node.slots

    def _executors(self) -> Counter[str]:
        """Living ones, by their host."""
        return Counter(living(self.spark).values())

    def _end(self, host: str) -> None:
        self.daemons.end(host)


@dataclass
class GivenMachines(Machines):
    """Hosts of an existing master."""

    def _has(self, node: model.Node) -> bool:
        return self.host_of.get(node) in living(self.spark).values()

    def _add(self, nodes: Sequence[model.Node], wait: Wait) -> None:
        wanted = {*self.host_of, *nodes}
        matching = Matching(nodes, lambda more: self._request(wanted, more))
        self._request(wanted)
        if not wait(lambda: matching.matches(unbound(self.spark).values()), START_S):
            more = counted(len(nodes), "more node")
            raise SlotwiseError(
                f"{self.cluster.master} has not given {more} in {START_S:g} s: {matching.refusal}"
            )
        self.host_of |= dict(zip(nodes, matching.hosts, strict=True))

    def _end(self, host: str) -> None:
        """The master's own workers go on."""


def machines_of(spark: SparkSession, cluster: SparkCluster, hosts: Sequence[str]) -> Machines:
    """Those of a session that is connected to `cluster`, with the host of each slot."""
    kind = OwnMachines if cluster.is_embedded else GivenMachines
    first = cluster.model.first_slot.tolist()
    return kind(
        spark,
        cluster,
        {node: hosts[slot] for node, slot in zip(cluster.model.nodes, first, strict=False)},
        cluster.model.slots,
    )
