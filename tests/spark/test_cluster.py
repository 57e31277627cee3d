from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from slotwise.model import Cluster, Node, SlotwiseError
from slotwise.spark import cluster
from slotwise.spark.cluster import processes, quotas
from slotwise.spark.cluster.folders import PREFIX, passing_folder
from tests.builders import cluster as model_cluster
from tests.spark.conftest import wait_until
from tests.spark.programs import told_by

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
ONE_SLOT = Cluster((Node("only", 1, 1.0),), slot_memory_gb=1.0)


@contextmanager
def program(act: str, errors: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The program of program.py, ready, and what it told; killed after if it still runs."""
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "src"))
    with errors.open("w") as written:
        started = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.program", act],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
            cwd=ROOT,
        )
    assert started.stdout is not None
    try:
        told = started.stdout.readline()
        assert told, errors.read_text()
        yield started, json.loads(told)
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def all_gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) for pid in pids)


def test_a_lost_node_is_done_without_and_a_killed_program_leaves_no_process(
    tmp_path: Path,
) -> None:
    with program("lose-a-worker", tmp_path / "errors") as (started, told):
        assert told["complete"]
        assert told["slots"] == [0]
        assert told["reasons"] == ["slot 1 on 127.0.0.12 has no executor"]
        assert told["quotas"] in (None, [0.8, 1.6])
        assert len(told["pids"]) >= 6  # master, two workers, two executors, the driver
        started.kill()
        wait_until(lambda: all_gone(told["pids"]))
    assert Path(told["folder"]).exists()  # nobody was there to remove it
    with passing_folder():
        assert not Path(told["folder"]).exists()
    if told["quotas"]:
        quotas.quota().remove()
        left = quotas._hierarchy()[1].glob(f"{PREFIX}{started.pid}-*")
        assert list(left) == []


def test_an_existing_master_is_used_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    with program("share-a-master", tmp_path / "errors") as (started, told):
        needs = "needs 4 executors of one core and 512 MB, on different hosts: 2 on each of 2 hosts"
        assert needs in told["refusal"]
        assert re.search("1 of 1 core and .* MB free on 127.0.0.11", told["refusal"])
        assert re.search("2 of 2 cores and .* MB free on 127.0.0.12", told["refusal"])
        assert told["intruder"].startswith(f"master {told['url']} does not answer")
        # The node with two slots stands first in that model, and second in the master's.
        assert told["hosts"] == ["127.0.0.12", "127.0.0.12", "127.0.0.11"]
        started.send_signal(signal.SIGINT)
        started.wait(60)
        wait_until(lambda: all_gone(told["pids"]))
        assert not Path(told["folder"]).exists()


def test_a_taken_port_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(SlotwiseError, match=f"port {port} on 127.0.0.1 is in use"),
            cluster.embedded(ONE_SLOT, threads_per_slot=1, port=port),
        ):
            pass


def test_a_cluster_beyond_the_memory_of_the_machine_is_refused() -> None:
    with (
        pytest.raises(SlotwiseError, match=r"400 slots of 4096 MB on 100 nodes need [\d,]+ MB"),
        cluster.embedded(model_cluster(100), threads_per_slot=1, slot_memory_mb=4096),
    ):
        pass


def test_a_cluster_of_more_nodes_than_addresses_is_refused() -> None:
    with (
        pytest.raises(SlotwiseError, match="at most 244 nodes, not 300"),
        cluster.embedded(model_cluster(300, slots=1), threads_per_slot=1),
    ):
        pass


def test_a_process_that_ends_at_once_is_told_with_its_complaint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "OPTIONS", ("-Xmx1k",))
    with (
        pytest.raises(SlotwiseError, match=r"ended during its start-up: master: Error occurred"),
        cluster.embedded(ONE_SLOT, threads_per_slot=1),
    ):
        pass


def test_a_later_session_has_its_own_jars(tmp_path: Path) -> None:
    assert told_by("other_jars", tmp_path) == [False, True]


def test_a_second_session_in_one_program_is_refused(
    spark: object, embedded: cluster.SparkCluster
) -> None:
    with pytest.raises(SlotwiseError, match="stop it first"):
        cluster.session(embedded)


def test_where_control_groups_cannot_be_written_a_quota_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(quotas, "_hierarchy", lambda: (1, tmp_path / "missing"))
    with pytest.raises(SlotwiseError, match=r"cannot set a CPU quota per slot: .* is not writable"):
        quotas.quota()
    monkeypatch.setattr(quotas, "_hierarchy", lambda: (1, tmp_path))
    with pytest.raises(SlotwiseError, match="no CPU quota there"):
        quotas.quota()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "name", "limit", "none"),
    [(1, "cpu.cfs_quota_us", "1250\n", "-1"), (2, "cpu.max", "1250 5000\n", "max")],
)
def test_a_quota_can_be_lifted_for_a_while(
    tmp_path: Path, version: int, name: str, limit: str, none: str
) -> None:
    file = tmp_path / "app-0" / name
    file.parent.mkdir()
    file.write_text(limit)

    def warm_up() -> None:
        with quotas.Quota(tmp_path, version).lifted():
            assert file.read_text() == none
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        warm_up()
    assert file.read_text() == limit
