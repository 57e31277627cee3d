"""Nodes of a plan on the hosts that a master gives, without Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Node, SlotwiseError
from slotwise.spark.cluster import masters, workers
from slotwise.spark.cluster.executors import task_cpus
from slotwise.spark.cluster.matching import Matching, hosts_of, missing
from slotwise.spark.cluster.processes import free_port
from slotwise.spark.cluster.workers import Worker

ONE_AND_TWO = (Node("a", 1, 1.0), Node("b", 2, 2.0))


def test_nodes_go_to_hosts_with_as_many_executors() -> None:
    assert hosts_of(ONE_AND_TWO, ["x", "y", "y", "z"]) == ("x", "y")
    with pytest.raises(SlotwiseError, match="node 'b' has 2 slots, and x, the largest host left"):
        hosts_of(ONE_AND_TWO, ["x", "y", "z"])
    with pytest.raises(SlotwiseError, match="no host, the largest host left, has 0 executors"):
        hosts_of(ONE_AND_TWO, ["x", "x", "x"])


def test_a_node_that_has_a_hosts_name_is_that_host() -> None:
    assert hosts_of(ONE_AND_TWO, ["a", "a", "b", "b"]) == ("a", "b")
    assert hosts_of(ONE_AND_TWO, ["a", "a", "x", "x", "x"]) == ("a", "x")
    with pytest.raises(SlotwiseError, match="node 'b' has 2 slots, and the host of its name, has"):
        hosts_of(ONE_AND_TWO, ["b", "x", "x", "x"])
    assert missing(ONE_AND_TWO, ["b", "x", "x", "x"]) == 1


@pytest.mark.parametrize(
    ("hosts", "count"), [("xyy", 0), ("xy", 1), ("xyz", 1), ("xxx", 1), ("", 3)]
)
def test_what_is_missing_is_counted(hosts: str, count: int) -> None:
    assert missing(ONE_AND_TWO, list(hosts)) == count


@pytest.mark.parametrize("slots", [(3, 1), (1, 3), (2, 2), (4, 1, 1), (5,)])
@pytest.mark.parametrize("hosts", [3, 4])
def test_a_master_that_spreads_executors_is_asked_for_more(
    slots: tuple[int, ...], hosts: int
) -> None:
    """As Spark's standalone master does by default, on hosts with room for everything."""
    nodes = tuple(Node(f"n{n}", count, 1.0) for n, count in enumerate(slots))
    asked: list[int] = []
    matching, given = Matching(nodes, asked.append), sum(slots)
    for _ in range(20):
        spread = [f"host-{n % hosts}" for n in range(given)]
        if matching.matches(spread):
            break
        given = sum(slots) + matching.more
    has = Counter(spread)
    assert all(has[host] >= n.slots for n, host in zip(nodes, matching.hosts, strict=True))
    assert len(set(matching.hosts)) == len(nodes)
    assert asked == sorted(set(asked))


def test_what_does_not_come_is_asked_for_once() -> None:
    asked: list[int] = []
    matching = Matching(ONE_AND_TWO, asked.append)
    for _ in range(5):
        assert not matching.matches(["x", "y", "z"])
    assert asked == [1]
    assert matching.refusal.startswith("node 'b' has 2 slots, and x")


def test_not_all_of_a_large_cluster_is_asked_for() -> None:
    asked: list[int] = []
    matching = Matching((Node("a", 4, 1.0),), asked.append)
    for _ in range(50):
        matching.matches([f"host-{n}" for n in range(4 + matching.more)])
    assert matching.more < 16


def test_a_refusal_says_what_there_is_and_what_is_needed() -> None:
    found = [Worker("x", 4, 8000, "http://127.0.0.1:1"), Worker("y", 1, 900, "http://127.0.0.1:1")]
    assert workers.refusal("spark://m:7077", ONE_AND_TWO, 512, found) == (
        "the plan needs 3 executors of one core and 512 MB, on different hosts: 2 on one host, "
        "1 on one host, and spark://m:7077 has 4 cores and 8000 MB on x; 1 core and 900 MB on y"
    )
    assert workers.refusal("m", (Node("a", 2, 1.0),), 512, ()) == (
        "the plan needs 2 executors of one core and 512 MB on one host, and m has no worker"
    )
    many = [Worker(f"h{n}", 1, 900, "http://127.0.0.1:1") for n in range(9)]
    assert workers.refusal("m", ONE_AND_TWO, 512, many).endswith("; and 3 more workers")


def test_memory_limits_executors_as_cores_do() -> None:
    assert Worker("x", 4, 8000, "").executors(512) == 4
    assert Worker("x", 4, 1100, "").executors(512) == 2


@pytest.mark.parametrize("threads", [1, 3, 7, 12, 64, 1000])
def test_so_many_tasks_fit_into_a_core(threads: int) -> None:
    share = float(task_cpus(threads))
    assert threads * share <= 1 < (threads + 1) * share


@pytest.mark.parametrize("url", ["127.0.0.1:7077", "mesos://a:1", "local[2]", "k8s://"])
def test_a_master_of_no_kind_is_refused(url: str) -> None:
    with pytest.raises(SlotwiseError, match="expected spark://host:port, yarn or k8s://https"):
        masters.check(url)


@pytest.mark.parametrize("url", ["spark://127.0.0.1", "spark://:7077"])
def test_a_standalone_master_without_its_address_is_refused(url: str) -> None:
    with pytest.raises(SlotwiseError, match="expected spark://host:port"):
        masters.check(url)


def test_a_master_that_does_not_answer_is_refused() -> None:
    url = f"spark://127.0.0.1:{free_port('127.0.0.1')}"
    with pytest.raises(SlotwiseError, match=f"cannot connect to master {url}"):
        masters.check(url)


def test_kubernetes_needs_the_name_of_an_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    with pytest.raises(SlotwiseError, match=r"--spark-conf spark\.kubernetes\.container\.image"):
        masters.check_conf("k8s://https://host:6443", {"spark.ui.port": "0"})
    masters.check_conf("k8s://https://host:6443", {masters.IMAGE_OF_EXECUTORS: "slotwise"})
    masters.check_conf("yarn", {})


def test_a_secret_is_made_where_a_session_needs_one() -> None:
    asks = {"spark.authenticate": "true"}
    made, other = (masters.authentication("yarn", asks)["spark.authenticate.secret"] for _ in "ab")
    assert len(made) == 64
    assert made != other
    assert masters.authentication("yarn", {}) == {}
    assert masters.authentication("spark://host:7077", asks) == {}
    assert masters.authentication("yarn", {**asks, "spark.authenticate.secret.file": "f"}) == {}


def test_yarn_needs_hadoops_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    with pytest.raises(SlotwiseError, match="set HADOOP_CONF_DIR to the folder with"):
        masters.check("yarn")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(SlotwiseError, match=r"has no yarn-site\.xml"):
        masters.check("yarn")
    (tmp_path / "yarn-site.xml").touch()
    masters.check("yarn")
