"""Runs side by side on one standalone master."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.spark.programs import told_by

pytestmark = pytest.mark.cluster


def test_two_runs_share_a_master_and_a_third_is_told_what_is_left(tmp_path: Path) -> None:
    """The master asks for a secret, and all traffic is encrypted. Spark's history server reads the
    event log of one run, and the other one shows Spark's own page.
    """
    told = told_by("side_by_side", tmp_path)
    assert told["summaries"] == [{"threads": 3, "threads_in_place": 3, "events": []}] * 2
    assert told["page"] == ["second"]
    assert told["logged"] == [["first", True, 2]]  # its driver is one
    worker = r"0 of 1 core and \d+ of \d+ MB free on 127\.0\.0\.1[12]"
    assert re.search(
        r"the plan needs 1 executor of one core and 512 MB, and spark://\S+ "
        rf"has {worker}; {worker}; in 2 s it provided 0: wait for other applications",
        told["refusal"],
    )
