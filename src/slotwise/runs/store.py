"""The SQLite file that keeps runs: where it is, its tables, and how it is opened.

In WAL mode one writes while others read, and a program that is killed leaves a file that is whole.
Each row has the `version` of its run in which it was written or last changed, so that a reader can
ask for what is new; a run's version is one more after each commit.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

from slotwise.model import SlotwiseError

VERSION = 3
"""Of the tables, as `PRAGMA user_version`."""
VARIABLE = "SLOTWISE_RUNS"
WAIT_S = 10.0
"""For another program that writes to the file at the same moment."""

_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    topology TEXT NOT NULL, origin TEXT NOT NULL, controller TEXT,
    started TEXT NOT NULL, ended TEXT, why TEXT NOT NULL DEFAULT '',
    process INTEGER NOT NULL, process_started REAL NOT NULL,
    head TEXT NOT NULL, plan INTEGER, recommended INTEGER, forced TEXT NOT NULL DEFAULT '[]',
    step TEXT, dropped INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE plans (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, number INTEGER NOT NULL,
    data TEXT NOT NULL, predicted TEXT NOT NULL, slot_names TEXT NOT NULL,
    version INTEGER NOT NULL, PRIMARY KEY (run, number)
);
CREATE TABLE points (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, at_s REAL NOT NULL,
    width_s REAL NOT NULL, plan INTEGER NOT NULL, offered_rate REAL, taken_in_rate REAL,
    throughput REAL, backlog REAL, waiting REAL, latency_ms REAL, p50 REAL, p95 REAL, p99 REAL,
    inter_node_traffic REAL, cost_per_hour REAL, slots INTEGER, slot_cpu BLOB,
    PRIMARY KEY (run, at_s)
) WITHOUT ROWID;
CREATE TABLE observations (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, at_s REAL NOT NULL,
    plan INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, at_s)
);
CREATE TABLE decisions (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, number INTEGER NOT NULL,
    at_s REAL NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (run, number)
);
CREATE TABLE marks (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, number INTEGER NOT NULL,
    at_s REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (run, number)
);
"""


class Unusable(SlotwiseError):
    """The file of runs."""


def usual_file() -> Path:
    """`SLOTWISE_RUNS`, or runs.db in the user's data folder for Slotwise."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    home = Path.home()
    if sys.platform == "darwin":
        folder = home / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return folder / "slotwise" / "runs.db"


def opened(path: Path) -> sqlite3.Connection:
    """For writing; the file and its folder are made where there are none. Raises SlotwiseError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connected(path)
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if _version(connection) == 0:
                for statement in _TABLES.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
        _check(connection, path)
        return connection
    except (sqlite3.Error, OSError) as error:
        raise unusable(path, error) from None


def opened_to_read(path: Path) -> sqlite3.Connection:
    """A file that is there. Raises SlotwiseError."""
    if not path.is_file() or not path.stat().st_size:
        raise Unusable(
            f"{path}: no runs are kept there: use another --runs, or 'slotwise run' a plan, or "
            "'slotwise simulate' one with --controller"
        )
    try:
        connection = _connected(path)
        connection.execute("PRAGMA query_only = ON")
        _check(connection, path)
        return connection
    except sqlite3.Error as error:
        raise unusable(path, error) from None


def unusable(path: Path, error: Exception) -> Unusable:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Unusable(f"{path}: the file of runs cannot be used ({reason}): use another --runs")


def _connected(path: Path) -> sqlite3.Connection:
    # Transactions are begun where they are wanted; readers of one server are in several threads,
    # one at a time.
    connection = sqlite3.connect(
        path, timeout=WAIT_S, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check(connection: sqlite3.Connection, path: Path) -> None:
    version = _version(connection)
    if version != VERSION:
        connection.close()
        raise Unusable(
            f"{path}: the file has version {version} of the tables of runs, this Slotwise uses "
            f"version {VERSION}: use another --runs"
        )
