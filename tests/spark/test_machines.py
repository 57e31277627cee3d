"""Nodes come and go, on a settable clock: no Spark, no processes, no real time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from slotwise.clock import await_condition
from slotwise.model import Cluster, Node, SlotwiseError
from slotwise.spark.cluster import SparkCluster, executors, machines
from slotwise.spark.cluster.machines import Machines, machines_of
from slotwise.spark.cluster.matching import hosts_of
from slotwise.spark.cluster.processes import Worker
from tests.clocks import SettableClock

LEFT, RIGHT, MORE = Node("left", 2, 2.0), Node("right", 1, 1.0), Node("more", 2, 2.0, speed=2.0)
UP_S = 9.0
"""After which executors come up."""


def cluster(*nodes: Node) -> Cluster:
    return Cluster(nodes, slot_memory_gb=1.0)


@dataclass
class Master:
    """As the PlacedScheduler, its master and the workers: every host gives executors while there
    are fewer than requested.
    """

    clock: SettableClock
    room: dict[str, int]
    """Per host, the executors that fit."""
    living: dict[str, str] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    requested: int = 0
    started: int = 0
    is_slow: bool = False
    workers: list[Worker] = field(default_factory=list)

    def request(self, number: int) -> None:
        self.requested = number
        self.schedule()

    def schedule(self) -> None:
        """Executors come up later."""
        for host, room in self.room.items():
            while self.on(host) < room and len(self.living) < self.requested:
                self.living[str(self.started)] = f"{host} starting"
                self.clock.at(self.clock.now_s() + UP_S, self.up(str(self.started)))
                self.started += 1

    def up(self, executor: str) -> Callable[[], None]:
        def come_up() -> None:
            if executor in self.living and not self.is_slow:
                self.living[executor] = self.living[executor].split()[0]

        return come_up

    def on(self, host: str) -> int:
        return sum(each.split()[0] == host for each in self.living.values())

    def release(self, executors: str) -> None:
        for executor in executors.split(","):
            del self.living[executor]
        self.schedule()

    def executors(self) -> str:
        return json.dumps({e: host for e, host in self.living.items() if " " not in host})

    def setSlots(self, hosts: str) -> None:  # noqa: N802
        self.slots = hosts.split(",")

    def slotExecutors(self) -> str:  # noqa: N802
        free = json.loads(self.executors())
        bound = []
        for host in self.slots:
            bound.append(next((e for e, at in free.items() if at == host), None))
            free.pop(bound[-1], None)
        return json.dumps(bound)

    # -- as Daemons -----------------------------------------------------------------------------

    def start(self, worker: Worker) -> None:
        self.room[worker.host] = worker.cores
        self.workers.append(worker)
        self.schedule()

    def end(self, host: str) -> None:
        self.room.pop(host, None)
        self.living = {e: at for e, at in self.living.items() if at.split()[0] != host}

    def runs(self, host: str) -> bool:
        return host in self.room

    def complaint(self, host: str) -> str:
        return f"worker-{host}: java.lang.Error: no memory"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(now_s=1000.0)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, clock: SettableClock) -> Master:
    return Master(clock, {"127.0.0.11": 2, "127.0.0.12": 1})


def session(monkeypatch: pytest.MonkeyPatch, master: Master, of: SparkCluster) -> Machines:
    """Connected: every slot has its executor."""
    monkeypatch.setattr(executors, "scheduler", lambda _: master)
    monkeypatch.setattr(machines, "scheduler", lambda _: master)
    monkeypatch.setattr(machines, "check_memory", lambda *_: None)
    master.request(of.model.slots)
    master.clock.sleep(UP_S)
    hosts = of.slot_hosts or _slot_hosts(of.model, json.loads(master.executors()))
    master.setSlots(",".join(hosts))
    return machines_of(SimpleNamespace(), of, hosts)  # type: ignore[arg-type]


def _slot_hosts(of: Cluster, found: dict[str, str]) -> tuple[str, ...]:
    hosts = hosts_of(of.nodes, found.values())
    return tuple(hosts[node] for node in of.slot_node.tolist())


def embedded(monkeypatch: pytest.MonkeyPatch, master: Master) -> Machines:
    hosts = ("127.0.0.11", "127.0.0.11", "127.0.0.12")
    daemons: Any = master
    made = SparkCluster(
        cluster(LEFT, RIGHT), 8, 512, slot_hosts=hosts, cores_per_slot=0.5, daemons=daemons
    )
    monkeypatch.setattr(SparkCluster, "is_embedded", property(lambda self: True))
    return session(monkeypatch, master, made)


def wait(clock: SettableClock) -> Any:
    return lambda holds, seconds: await_condition(holds, seconds, clock)


def test_a_node_is_added_then_another_given_back(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found = embedded(monkeypatch, own)
    new = cluster(MORE, LEFT)
    assert found.add(new, wait(clock)) == (MORE,)
    assert clock.now_s() == pytest.approx(1000 + 2 * UP_S, abs=0.2)
    assert own.workers == [Worker("more", "127.0.0.13", 2, 2 * 1536, slot_cores=1.0)]
    hosts = found.hosts(new)
    assert hosts == ("127.0.0.13", "127.0.0.13", "127.0.0.11", "127.0.0.11")
    own.setSlots(",".join(hosts))  # the query goes over
    assert found.keep(new) == (RIGHT,)
    assert sorted(own.living.values()) == sorted(hosts)
    assert own.requested == 4
    assert not own.runs("127.0.0.12")
    # Its address is free again.
    assert found.add(cluster(MORE, LEFT, RIGHT), wait(clock)) == (RIGHT,)
    assert found.host_of[RIGHT] == "127.0.0.12"


def test_the_same_nodes_need_nothing(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found, before_s = embedded(monkeypatch, own), clock.now_s()
    assert found.add(cluster(RIGHT, LEFT), wait(clock)) == ()
    assert found.keep(cluster(RIGHT, LEFT)) == ()
    assert clock.now_s() == before_s
    assert len(own.living) == 3


def test_a_node_of_another_size_is_another_node(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found, larger = embedded(monkeypatch, own), Node("right", 2, 2.0)
    assert found.add(cluster(LEFT, larger), wait(clock)) == (larger,)
    own.setSlots(",".join(found.hosts(cluster(LEFT, larger))))
    assert found.keep(cluster(LEFT, larger)) == (RIGHT,)


def test_a_node_that_does_not_come_up_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found = embedded(monkeypatch, own)
    own.is_slow = True
    refusal = r"node 'more' has 0 of 2 executors after 60 s: worker-127\.0\.0\.13: java"
    with pytest.raises(SlotwiseError, match=refusal):
        found.add(cluster(LEFT, RIGHT, MORE), wait(clock))
    assert found.keep(cluster(LEFT, RIGHT)) == (MORE,)
    assert not own.runs("127.0.0.13")
    assert own.requested == 3
    assert len(own.living) == 3


def test_a_worker_that_ends_at_once_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found = embedded(monkeypatch, own)
    began_s = clock.now_s()
    clock.at(began_s + 2, lambda: own.end("127.0.0.13"))
    with pytest.raises(SlotwiseError, match="worker of node 'more' ended during its start-up"):
        found.add(cluster(LEFT, MORE), wait(clock))
    assert clock.now_s() == pytest.approx(began_s + 2, abs=0.11)


def test_a_node_whose_worker_was_lost_is_started_again(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found = embedded(monkeypatch, own)
    own.end("127.0.0.11")
    assert found.add(cluster(LEFT, RIGHT), wait(clock)) == (LEFT,)
    assert found.hosts(cluster(LEFT, RIGHT)) == ("127.0.0.11", "127.0.0.11", "127.0.0.12")


def test_a_lost_node_is_started_again_at_its_address_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, own: Master, clock: SettableClock
) -> None:
    found, began_s = embedded(monkeypatch, own), clock.now_s()
    assert found.revive() == ()
    own.end("127.0.0.12")
    assert found.revive() == (RIGHT,)
    assert clock.now_s() == began_s  # nobody waits for it
    clock.sleep(UP_S)
    assert sorted(own.living.values()) == ["127.0.0.11", "127.0.0.11", "127.0.0.12"]


@pytest.fixture
def existing(clock: SettableClock) -> Master:
    return Master(clock, {"a": 2, "b": 1, "c": 3})


def given(monkeypatch: pytest.MonkeyPatch, master: Master) -> Machines:
    made = SparkCluster(cluster(LEFT, RIGHT), 8, 512, master="spark://somewhere:7077")
    return session(monkeypatch, master, made)


def test_an_existing_master_gives_executors_and_takes_them_back(
    monkeypatch: pytest.MonkeyPatch, existing: Master, clock: SettableClock
) -> None:
    found = given(monkeypatch, existing)
    assert found.hosts(cluster(LEFT, RIGHT)) == ("a", "a", "b")
    new = cluster(LEFT, RIGHT, MORE)
    assert found.add(new, wait(clock)) == (MORE,)
    assert found.hosts(new) == ("a", "a", "b", "c", "c")
    existing.setSlots("a,a,b,c,c")
    assert found.keep(new) == ()
    assert existing.requested == 5
    existing.setSlots("c,c,b")
    assert found.keep(cluster(MORE, RIGHT)) == (LEFT,)
    assert sorted(existing.living.values()) == ["b", "c", "c"]
    assert set(existing.room) == {"a", "b", "c"}  # its workers are not ours


def test_a_master_without_room_refuses_and_late_executors_are_given_back(
    monkeypatch: pytest.MonkeyPatch, existing: Master, clock: SettableClock
) -> None:
    found = given(monkeypatch, existing)
    existing.room["c"] = 1
    with pytest.raises(SlotwiseError, match=r"has not given 1 more node in 60 s: node 'more' has"):
        found.add(cluster(LEFT, RIGHT, MORE), wait(clock))
    assert len(existing.living) == 4
    assert found.keep(cluster(LEFT, RIGHT)) == ()
    assert (existing.requested, len(existing.living)) == (3, 3)
    existing.living["99"] = "c"
    found.release_unbound()
    assert "99" not in existing.living
