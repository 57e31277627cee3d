"""What is kept of a run as it grows old, so that a day of it is some tens of megabytes.

Points: one per second of the last hour, one per 10 s of the last day, one per minute before that.
Observations in full: all of the last ten minutes, the last of each minute before that.
"""

from __future__ import annotations

import sqlite3

from slotwise.runs.points import COLUMNS, merged

POINTS = ((3600.0, 10.0), (24 * 3600.0, 60.0))
"""(older than so many seconds, one per so many seconds)."""
IN_FULL_S = 600.0
OBSERVATION_S = 60.0
EACH_S = 60.0
"""Of the run's clock, between two thinnings."""


def thin(connection: sqlite3.Connection, run: int, now_s: float) -> None:
    """Within the caller's transaction."""
    for older_s, width_s in POINTS:
        _thin_points(connection, run, _whole(now_s - older_s, width_s), width_s)
    _thin_observations(connection, run, _whole(now_s - IN_FULL_S, OBSERVATION_S))


def _whole(at_s: float, width_s: float) -> float:
    """The end of the last interval that is over."""
    return at_s // width_s * width_s


def _thin_points(connection: sqlite3.Connection, run: int, end_s: float, width_s: float) -> None:
    """Those that end before `end_s` and are not thinned yet: all after the last thinned one."""
    done = connection.execute(
        "SELECT max(at_s) FROM points WHERE run = ? AND at_s < ? AND width_s >= ?",
        (run, end_s, width_s * 0.9),
    ).fetchone()[0]
    begin_s = 0.0 if done is None else _whole(done, width_s) + width_s
    # A point belongs to the interval that begins at or before its end.
    span_s = (begin_s - 1e-6, end_s - 1e-6)
    if span_s[1] <= span_s[0]:
        return
    rows = list(merged(connection, run, span_s, width_s))
    connection.execute(
        "DELETE FROM points WHERE run = ? AND at_s > ? AND at_s <= ?", (run, *span_s)
    )
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    connection.executemany(
        f"INSERT INTO points (run, {', '.join(COLUMNS)}) VALUES ({marks})",
        [(run, *row) for row in rows],
    )


def _thin_observations(connection: sqlite3.Connection, run: int, end_s: float) -> None:
    connection.execute(
        "DELETE FROM observations WHERE run = ? AND at_s < ? AND at_s NOT IN ("
        "SELECT max(at_s) FROM observations WHERE run = ? AND at_s < ? "
        "GROUP BY CAST(at_s / ? AS INTEGER))",
        (run, end_s, run, end_s, OBSERVATION_S),
    )
