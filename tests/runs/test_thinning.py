"""A day of a run is kept in a few thousand points, and a peak does not vanish."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path

import pytest

from slotwise.runs import store
from slotwise.runs.points import COLUMNS, merged, packed, unpacked
from slotwise.runs.thinning import thin

DAY_S = 24 * 3600


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    made = store.opened(tmp_path / "runs.db")
    made.execute(
        "INSERT INTO runs (topology, origin, started, process, process_started, head) "
        "VALUES ('t', 'measured', '2026-01-01T00:00:00Z', 1, 0, '{}')"
    )
    return made


def add(connection: sqlite3.Connection, at_s: int, **figures: object) -> None:
    row = dict.fromkeys(COLUMNS) | {"at_s": at_s, "width_s": 5.0, "plan": 1} | figures
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    connection.execute(
        f"INSERT INTO points (run, {', '.join(COLUMNS)}) VALUES ({marks})",
        (1, *(row[name] for name in COLUMNS)),
    )


def test_a_day_is_thinned_while_it_goes_on(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    for second in range(1, DAY_S + 3 * 3600):
        add(connection, second, p99=900.0 if second == 1000 else 10.0, offered_rate=float(second))
        if second % 60 == 0:
            thin(connection, 1, second)
    connection.execute("COMMIT")
    count = connection.execute("SELECT count(*) FROM points").fetchone()[0]
    # 3 h in minutes, 23 h in tens of seconds, the last hour in seconds.
    assert 180 + 8280 + 3600 <= count <= 180 + 8280 + 3600 + 130
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in merged(connection, 1, (0, 1e9), 1e-3)]
    assert max(row["p99"] for row in rows) == 900.0
    assert all(one["at_s"] < other["at_s"] for one, other in itertools.pairwise(rows))
    first = rows[1]
    assert first["offered_rate"] == pytest.approx(first["at_s"] - 29.5, abs=0.1)


def test_observations_in_full_are_kept_for_ten_minutes_then_one_a_minute(
    connection: sqlite3.Connection,
) -> None:
    for second in range(1, 1801):
        connection.execute("INSERT INTO observations VALUES (1, ?, 1, x'00')", (second,))
        if second % 60 == 0:
            thin(connection, 1, second)
    times_s = [row[0] for row in connection.execute("SELECT at_s FROM observations ORDER BY at_s")]
    assert times_s == [*range(59, 1200, 60), *range(1200, 1801)]


def test_history_is_made_of_as_many_points_as_are_asked_for(
    connection: sqlite3.Connection,
) -> None:
    for second in range(1, 1001):
        peak = 500.0 if second == 777 else 1.0
        add(connection, second, p99=peak, throughput=2.0, slot_cpu=packed([0.25, None]))
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in merged(connection, 1, (0, 1000), 10)]
    assert len(rows) in (100, 101)
    assert max(row["p99"] for row in rows) == 500.0
    assert {row["throughput"] for row in rows} == {2.0}
    assert unpacked(rows[0]["slot_cpu"]) == [0.25, None]


def test_points_of_two_plans_are_not_mixed(connection: sqlite3.Connection) -> None:
    add(connection, 1, plan=1, slot_cpu=packed([0.5]))
    add(connection, 2, plan=2, slot_cpu=packed([0.5, 1.0]))
    rows = list(merged(connection, 1, (0, 10), 100))
    assert [row[2] for row in rows] == [1, 2]
