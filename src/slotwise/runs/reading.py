"""Runs as they were kept, also while they go on."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from slotwise.model import SlotwiseError
from slotwise.runs import store
from slotwise.runs.points import COLUMNS, merged, unpacked

State = Literal["running", "ended", "failed"]
KILLED = "ended unexpectedly"
LATEST = "last"
"""The newest run, by this name."""


@dataclass(frozen=True)
class KeptRun:
    """What is kept of a run as a whole."""

    id: int
    topology: str
    origin: str
    controller: str | None
    started: str
    """The moment, as ISO 8601 has it."""
    ended: str | None
    state: State
    why: str
    """Why it failed; of a run that was killed, KILLED."""
    head: Mapping[str, Any]
    """Goals, rules, rate, control file, and the version of Slotwise."""
    plan: int
    """The number of the plan in effect."""
    recommended: int | None
    """That of the plan that was last recommended and not applied."""
    forced: tuple[str, ...]
    """The ids of forced changes that were acted upon."""
    step: Mapping[str, Any] | None
    """The last period of its loop."""
    dropped: int
    """Observations that came faster than they could be written."""
    version: int
    """One more with each commit."""


@dataclass(frozen=True)
class Seen:
    """An observation in full."""

    at_s: float
    plan: int
    observation: Mapping[str, Any]
    verdicts: tuple[Mapping[str, Any], ...]
    """On the goals."""


@dataclass
class Runs:
    """A file of runs, opened to read. Not for several threads at a time."""

    path: Path
    connection: sqlite3.Connection

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[Runs]:
        """Raises SlotwiseError where there is none."""
        connection = store.opened_to_read(path)
        try:
            yield cls(path, connection)
        finally:
            connection.close()

    def all(self) -> list[KeptRun]:
        """Newest first."""
        rows = self.connection.execute("SELECT * FROM runs ORDER BY id DESC")
        return [_kept(row) for row in rows]

    def run(self, name: str | int) -> KeptRun:
        """By its number, or `last`. Raises SlotwiseError."""
        if name == LATEST:
            found = self.connection.execute("SELECT * FROM runs ORDER BY id DESC LIMIT 1")
        else:
            number = int(name) if str(name).isdecimal() and len(str(name)) < 19 else -1
            found = self.connection.execute("SELECT * FROM runs WHERE id = ?", (number,))
        row = found.fetchone()
        if row is None:
            raise SlotwiseError(f"there is no run '{name}' in {self.path}: see 'slotwise runs'")
        return _kept(row)

    def version(self, run: int) -> int:
        """Whether something is new; a run that was removed has none: -1."""
        row = self.connection.execute("SELECT version FROM runs WHERE id = ?", (run,)).fetchone()
        return -1 if row is None else int(row[0])

    def plans(self, run: int, after: int = -1) -> dict[int, Any]:
        """By number, those that were written after the run had that version."""
        rows = self.connection.execute(
            "SELECT number, data FROM plans WHERE run = ? AND version > ? ORDER BY number",
            (run, after),
        )
        return {int(row[0]): json.loads(row[1]) for row in rows}

    def plans_in_short(self, run: int) -> dict[int, Any]:
        """By number, all of them: what is predicted of the run as a whole."""
        rows = self.connection.execute(
            "SELECT number, predicted FROM plans WHERE run = ? ORDER BY number", (run,)
        )
        return {int(row[0]): {"predicted": json.loads(row[1])} for row in rows}

    def slot_names(self, run: int) -> dict[int, list[str]]:
        """By the number of a plan, in the order of its cluster's slots."""
        rows = self.connection.execute("SELECT number, slot_names FROM plans WHERE run = ?", (run,))
        return {int(row[0]): json.loads(row[1]) for row in rows}

    def plan(self, run: int, number: int) -> Any:
        """A plan, as from JSON. Raises SlotwiseError."""
        return json.loads(self.plan_text(run, number))

    def plan_text(self, run: int, number: int) -> str:
        """A plan as JSON. Raises SlotwiseError."""
        row = self.connection.execute(
            "SELECT data FROM plans WHERE run = ? AND number = ?", (run, number)
        ).fetchone()
        if row is None:
            raise SlotwiseError(f"run {run} has no plan {number}")
        return str(row[0])

    def decisions(self, run: int, after: int = -1) -> list[Any]:
        return self._data("decisions", run, after)

    def outcomes(self, run: int) -> dict[str, int]:
        """How many decisions came to what."""
        rows = self.connection.execute(
            "SELECT json_extract(data, '$.outcome'), count(*) FROM decisions WHERE run = ? "
            "GROUP BY 1",
            (run,),
        )
        return {str(row[0]): int(row[1]) for row in rows}

    def marks(self, run: int, after: int = -1) -> list[dict[str, Any]]:
        rows = self.connection.execute(
            "SELECT number, at_s, kind, text FROM marks WHERE run = ? AND version > ? "
            "ORDER BY number",
            (run, after),
        )
        return [dict(row) for row in rows]

    def seen(self, run: int, until_s: float | None = None) -> Seen | None:
        """The newest observation, or the last one until that second."""
        row = self.connection.execute(
            "SELECT at_s, plan, data FROM observations WHERE run = ? AND at_s <= ? "
            "ORDER BY at_s DESC LIMIT 1",
            (run, float("inf") if until_s is None else until_s),
        ).fetchone()
        if row is None:
            return None
        data = json.loads(zlib.decompress(row[2]))
        return Seen(row[0], row[1], data["observation"], tuple(data["verdicts"]))

    def span_s(self, run: int) -> tuple[float, float] | None:
        """When its first and its last point end; None: there is none."""
        row = self.connection.execute(
            "SELECT min(at_s), max(at_s) FROM points WHERE run = ?", (run,)
        ).fetchone()
        return None if row[0] is None else (float(row[0]), float(row[1]))

    def history(
        self,
        run: int,
        span_s: tuple[float, float],
        points: int,
        with_slots: bool = True,
    ) -> list[dict[str, Any]]:
        """The points after the first moment until the second, thinned to about `points`: figures by
        the names of COLUMNS, `slot_cpu` a list in the order of the plan's slots.
        """
        first_s, last_s = self.span_s(run) or (0.0, 0.0)
        length_s = min(span_s[1], last_s) - max(span_s[0], first_s)
        rows = merged(
            self.connection, run, span_s, max(length_s / max(points, 1), 1e-3), with_slots
        )
        found: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        for point in found:
            point["slot_cpu"] = unpacked(point["slot_cpu"])
        return found

    def _data(self, table: str, run: int, after: int) -> list[Any]:
        rows = self.connection.execute(
            f"SELECT data FROM {table} WHERE run = ? AND version > ? ORDER BY number",
            (run, after),
        )
        return [json.loads(row[0]) for row in rows]


def remove(path: Path, names: Sequence[str]) -> tuple[int, ...]:
    """Remove these runs and all that belongs to them; their numbers. Raises SlotwiseError for one
    that is not there, and for one that goes on.
    """
    with Runs.opened(path) as runs:
        chosen = [runs.run(name) for name in names]
    for run in chosen:
        if run.state == "running":
            raise SlotwiseError(f"run {run.id} is still running: end it first")
    connection = store.opened(path)
    try:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for run in chosen:
                connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
        connection.execute("VACUUM")
    except sqlite3.Error as error:
        raise store.unusable(path, error) from None
    finally:
        connection.close()
    return tuple(dict.fromkeys(run.id for run in chosen))


def slot_names(plan: Mapping[str, Any]) -> list[str]:
    """Of a plan as JSON, in the order of its cluster's slots."""
    return [f"{node['name']}/{slot}" for node in plan["nodes"] for slot in range(node["slots"])]


def _kept(row: sqlite3.Row) -> KeptRun:
    state, why = _state(row)
    return KeptRun(
        id=row["id"],
        topology=row["topology"],
        origin=row["origin"],
        controller=row["controller"],
        started=row["started"],
        ended=row["ended"],
        state=state,
        why=why,
        head=json.loads(row["head"]),
        plan=row["plan"],
        recommended=row["recommended"],
        forced=tuple(json.loads(row["forced"])),
        step=None if row["step"] is None else json.loads(row["step"]),
        dropped=row["dropped"],
        version=row["version"],
    )


def _state(row: sqlite3.Row) -> tuple[State, str]:
    if row["ended"] is not None:
        return ("failed", row["why"]) if row["why"] else ("ended", "")
    return ("running", "") if _is_alive(row) else ("failed", KILLED)


def _is_alive(row: sqlite3.Row) -> bool:
    """The process that writes it is there, and is not a later one of the same number."""
    import psutil

    from slotwise.runs.writing import started_of

    try:
        return bool(abs(started_of(row["process"]) - row["process_started"]) < 1)
    except psutil.Error:  # there is no such process
        return False
