"""A plan on YARN: Hadoop's own resource manager and node managers, on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark import maven
from tests.spark.programs import told_by

pytestmark = pytest.mark.cluster


def test_a_plan_runs_on_yarn_and_goes_on_when_an_executor_is_killed(tmp_path: Path) -> None:
    """With Spark's authentication; the secret is made for the run."""
    maven.minicluster()
    told = told_by("on_yarn", tmp_path)
    # One node has two slots, wherever YARN has put these.
    one, two, also_two = told["hosts"]
    assert {one, two} == {"127.0.0.31", "127.0.0.32"}
    assert two == also_two
    assert len(told["placed"]) == len(told["after"]) == 7
    assert all(slot == planned >= 0 for slot, planned in told["placed"] + told["after"])
    assert told["complete"]
