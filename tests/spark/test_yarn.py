"""A plan on YARN: Hadoop's own resource manager and node managers, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark import maven

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]


def test_a_plan_runs_on_yarn_and_goes_on_when_an_executor_is_killed(tmp_path: Path) -> None:
    """With Spark's authentication; the secret is made for the run."""
    maven.minicluster()
    paths = os.pathsep.join(str(path) for path in (ROOT, ROOT / "src"))
    with (tmp_path / "errors").open("w") as errors:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.spark.on_yarn"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
            cwd=ROOT,
        )
    assert ran.returncode == 0, (tmp_path / "errors").read_text()
    told = json.loads(ran.stdout)
    # One node has two slots, wherever YARN has put these.
    one, two, also_two = told["hosts"]
    assert {one, two} == {"127.0.0.31", "127.0.0.32"}
    assert two == also_two
    assert len(told["placed"]) == len(told["after"]) == 7
    assert all(slot == planned >= 0 for slot, planned in told["placed"] + told["after"])
    assert told["complete"]
