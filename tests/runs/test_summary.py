"""A run in a few figures: means over its time, not over its points."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotwise.runs import Runs, store
from slotwise.runs.summary import summary_of

from .test_thinning import add


def test_a_point_counts_for_the_time_that_it_stands_for(tmp_path: Path) -> None:
    connection = store.opened(tmp_path / "runs.db")
    connection.execute(
        "INSERT INTO runs (topology, origin, started, process, process_started, head) "
        "VALUES ('t', 'measured', '2026-01-01T00:00:00Z', 1, 0, '{}')"
    )
    # A minute in one point, thinned from windows of 5 s; then 20 s in one point each.
    add(connection, 60, width_s=64.0, throughput=100.0, p99=50.0, slots=3)
    for second in range(61, 81):
        add(connection, second, throughput=200.0, p99=900.0 if second == 70 else 10.0)
    connection.close()
    with Runs.opened(tmp_path / "runs.db") as runs:
        found = summary_of(runs, 1)
    assert found.throughput == pytest.approx((64 * 100 + 20 * 200) / 84)
    assert found.p99 == pytest.approx((64 * 50 + 19 * 10 + 900) / 84)
    assert (found.worst_p99, found.seconds) == (900.0, 80.0)
    assert found.slots == 3
    assert found.offered_rate is None
