"""A sweep on Spark gives the same table as local processes, goes on, and leaves nobody behind.

The command runs in processes of its own: Spark allows one session in each.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark")

pytestmark = pytest.mark.cluster

GRID = """
spec: linear
rates: [30, 1.0e+9]
placers: [sam, {topology: {alpha: 0.2}}]
seeds: [0, 1]
simulation: {tuples: 300}
"""
ENTRY_POINT = 'if __name__ == "__main__":\n    from slotwise.cli import main\n    main()\n'
ON_SPARK = ("--master", "local[2]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "grid.yaml").write_text(GRID)
    (tmp_path / "entry.py").write_text(ENTRY_POINT)
    return tmp_path


def command(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """In a session of its own, so that all its processes can be found."""
    return subprocess.Popen(
        [sys.executable, "entry.py", "simulate", "--sweep", "grid.yaml", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def still_running(session: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def journal(folder: Path) -> list[str]:
    return (folder / "grid.yaml.journal").read_text().splitlines()


def test_same_table_as_local_processes(folder: Path) -> None:
    here = command(folder, "--csv")
    local, told = here.communicate()
    assert here.returncode == 0, told
    lines = journal(folder)
    # All but two points are to be run on Spark; one that is done is marked, to be seen again.
    done = json.loads(lines[0])
    done["row"]["bottleneck"] = "marked"
    (folder / "grid.yaml.journal").write_text(f"{json.dumps(done)}\n{lines[1]}\n")
    there = command(folder, "--csv", *ON_SPARK)
    table, told = there.communicate()
    assert there.returncode == 0, told
    assert told.decode() == "2 of 8 points are in grid.yaml.journal already\n"
    assert sorted(journal(folder)[1:]) == sorted(lines[1:])
    assert table.count(b"marked") == 1
    (folder / "grid.yaml.journal").write_text("\n".join([lines[0], *journal(folder)[1:]]) + "\n")
    assert command(folder, "--csv").communicate()[0] == local
    assert still_running(there.pid) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_in_the_middle(folder: Path, how: signal.Signals) -> None:
    (folder / "grid.yaml").write_text(
        GRID.replace("seeds: [0, 1]", f"seeds: {list(range(100))}").replace("300", "200000")
    )
    running = command(folder, *ON_SPARK)
    while not ((folder / "grid.yaml.journal").exists() and journal(folder)):
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=0.05)
    running.send_signal(how)
    _, told = running.communicate()
    _, left = psutil.wait_procs(still_running(running.pid), timeout=60)
    assert left == []
    assert all(json.loads(line)["row"]["slots"] for line in journal(folder))
    if how == signal.SIGINT:
        assert (running.returncode, told) == (130, b"slotwise: interrupted\n")


def test_a_master_that_is_none(folder: Path) -> None:
    running = command(folder, "--master", "nowhere")
    out, told = running.communicate()
    assert (running.returncode, out) == (1, b"")
    assert told.startswith(b"slotwise: Spark did not start (Master must either be yarn or start")
    assert told.count(b"\n") == 1
    assert still_running(running.pid) == []


DAY = """
from slotwise.spark.sweep import run_on_spark
from slotwise.studies.controller_trials import MEAN, Trial

if __name__ == "__main__":
    trial = Trial("vld", "step", MEAN, 100.0, 0)
    ((part, row),) = run_on_spark([trial], "local[1]")
    expected = trial.row()
    for each in (row, expected):
        del each["longest_decision_s"]
    print(part == trial, row == expected, len(row["slots"]))
"""


def test_a_simulated_day_of_a_study_comes_back_as_it_is_here(folder: Path) -> None:
    (folder / "day.py").write_text(DAY)
    done = subprocess.run([sys.executable, "day.py"], cwd=folder, capture_output=True, text=True)
    assert done.stdout == "True True 120\n", done.stderr
