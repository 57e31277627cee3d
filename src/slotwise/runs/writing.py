"""What becomes of a run's plans, observations, steps and events in the file of runs."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slotwise.adaptation import Step
from slotwise.adaptation_summary import Account
from slotwise.json_data import json_data
from slotwise.model import Fault, Observation, Plan
from slotwise.model.decision import kind_of
from slotwise.runs.inbox import Ended, Happened, Item, Seen, Stepped
from slotwise.runs.points import COLUMNS, Point
from slotwise.runs.reading import slot_names
from slotwise.runs.thinning import EACH_S, thin
from slotwise.spec.exact_json import exact_data
from slotwise.spec.observation_json import observation_data, verdicts_data
from slotwise.spec.plan_json import plan_to_json

if TYPE_CHECKING:
    from slotwise.runs.recorder import Head

_LEVEL = 1
"""Of compression: observations are written each second."""


@dataclass
class Writer:
    """One run; everything in it is called by one thread."""

    connection: sqlite3.Connection
    run: int
    account: Account
    is_over: bool = False
    version: int = 1
    """Of what is being written; see store.py."""
    _numbers: dict[str, int] = field(default_factory=dict)
    _last: tuple[Plan, int] | None = None
    _decisions: int = 0
    _applied: tuple[int, dict[str, Any]] | None = None
    """The number and data of the last decision that was applied."""
    _recommended: tuple[Plan, int] | None = None
    _marks: int = 0
    _before: Step | None = None
    _thinned_s: float = 0.0

    @classmethod
    def begun(cls, connection: sqlite3.Connection, head: Head) -> Writer:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            cursor = connection.execute(
                "INSERT INTO runs (topology, origin, controller, started, process, "
                "process_started, head, version) VALUES (?, ?, ?, ?, ?, ?, ?, 1)",
                (
                    head.plan.pipeline.topology.name,
                    head.origin,
                    head.controller,
                    moment(),
                    os.getpid(),
                    started_of(os.getpid()),
                    json.dumps(_head_data(head), ensure_ascii=False),
                ),
            )
            assert cursor.lastrowid is not None
            made = cls(connection, cursor.lastrowid, Account(head.goals))
            made._in_effect(head.plan)
        return made

    def write(self, items: Sequence[Item], dropped: int = 0) -> None:
        """In one transaction."""
        self.version += 1
        with self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            for item in items:
                self._write(item)
            self._set(version=self.version, dropped=dropped)

    def _write(self, item: Item) -> None:
        match item:
            case Seen():
                self._write_seen(item)
            case Stepped():
                self._write_step(item)
            case Happened():
                for sentence in item.sentences:
                    kind = "fault" if isinstance(sentence, Fault) else "event"
                    self._mark(item.at_s, kind, sentence)
            case Ended():
                self._set(ended=moment(), why=item.why)
                self.is_over = True

    # -- what was seen ----------------------------------------------------------------------

    def _write_seen(self, item: Seen) -> None:
        number = self._in_effect(item.plan)
        point = Point.of(item.observation, item.at_s, number, item.plan)
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        self.connection.execute(
            f"INSERT OR REPLACE INTO points (run, {', '.join(COLUMNS)}) VALUES ({marks})",
            (self.run, *point.row()),
        )
        self.connection.execute(
            "INSERT OR REPLACE INTO observations (run, at_s, plan, data) VALUES (?, ?, ?, ?)",
            (self.run, item.at_s, number, zlib.compress(self._short(item.observation), _LEVEL)),
        )
        if item.at_s >= self._thinned_s + EACH_S:
            self._thinned_s = item.at_s
            thin(self.connection, self.run, item.at_s)

    def _short(self, seen: Observation) -> bytes:
        """With its verdicts. Without traffic between threads, which would be most of it, and
        without series, of which the history has more.
        """
        short = replace(
            seen, thread_traffic=None, slot_traffic=None, node_traffic=None, series=None
        )
        judged = verdicts_data(self.account.goals.judge(seen))
        data = {"observation": observation_data(short), "verdicts": judged}
        return json.dumps(data, ensure_ascii=False, allow_nan=False).encode()

    def _in_effect(self, plan: Plan) -> int:
        if self._last is None or self._last[0] is not plan:
            self._last = plan, self._number(plan)
            self._set(plan=self._last[1])
            self._renew(self._last[1])
        return self._last[1]

    def _number(self, plan: Plan) -> int:
        """Equal plans have one number."""
        text = plan_to_json(plan)
        if text not in self._numbers:
            self._numbers[text] = number = len(self._numbers) + 1
            data = json.loads(text)
            parts = text, json.dumps(_figures(data["predicted"])), json.dumps(slot_names(data))
            self.connection.execute(
                "INSERT INTO plans (run, number, data, predicted, slot_names, version) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (self.run, number, *parts, self.version),
            )
        return self._numbers[text]

    def _renew(self, number: int) -> None:
        """Readers that know old plans in short only get this one in full, again."""
        self.connection.execute(
            "UPDATE plans SET version = ? WHERE run = ? AND number = ?",
            (self.version, self.run, number),
        )

    # -- what was decided -------------------------------------------------------------------

    def _write_step(self, item: Stepped) -> None:
        step, before = item.step, self._before
        self._before = step
        self._follow_up(step)
        self._set(
            step=json.dumps(_step_data(step), ensure_ascii=False),
            recommended=self._recommend(item.recommended),
            forced=json.dumps(item.forced),
        )
        if _is_told(step, before):
            self._write_decision(step)
            if not _repeats(step, before):
                self._mark_decision(step)

    def _recommend(self, plan: Plan | None) -> int | None:
        """One that only repeats the last recommendation, with other predictions, is not kept."""
        if plan is None:
            self._recommended = None
        elif self._recommended is None or kind_of(self._recommended[0], plan) != "keep":
            self._recommended = plan, self._number(plan)
            self._renew(self._recommended[1])
        return None if self._recommended is None else self._recommended[1]

    def _write_decision(self, step: Step) -> None:
        self._decisions += 1
        new = None
        if step.decision is not None and step.decision.plan is not None:
            if step.outcome == "recommended" and self._recommended is not None:
                new = self._recommended[1]
            else:
                new = self._number(step.decision.plan)
        data = decision_data(step, self._decisions, self._number(step.plan), new)
        if step.change is not None:
            self._applied = self._decisions, data
        self._put_decision(self._decisions, data)

    def _mark_decision(self, step: Step) -> None:
        change, reason = step.change, step.note
        if step.decision is not None:
            reason = step.decision.reason
        self._mark(
            step.at_s if change is None else change.at_s,
            "restart" if change is not None and change.how == "restart" else "decision",
            reason if step.outcome == "applied" else f"{step.outcome}: {reason}",
        )

    def _follow_up(self, step: Step) -> None:
        """What became of the figure that the last change was made for, until this step."""
        last = len(self.account.changes) - 1
        self.account.add(step)
        if self._applied is None or last < 0:
            return
        number, data = self._applied
        if data["seen"] != self.account.changes[last].seen:
            data["seen"] = self.account.changes[last].seen
            self._put_decision(number, data)

    def _put_decision(self, number: int, data: dict[str, Any]) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO decisions (run, number, at_s, data, version) "
            "VALUES (?, ?, ?, ?, ?)",
            (self.run, number, data["at_s"], json.dumps(data, ensure_ascii=False), self.version),
        )

    def _mark(self, at_s: float, kind: str, text: str) -> None:
        self._marks += 1
        self.connection.execute(
            "INSERT INTO marks (run, number, at_s, kind, text, version) VALUES (?, ?, ?, ?, ?, ?)",
            (self.run, self._marks, at_s, kind, text, self.version),
        )

    def _set(self, **values: Any) -> None:
        assignments = ", ".join(f"{name} = ?" for name in values)
        self.connection.execute(
            f"UPDATE runs SET {assignments} WHERE id = ?", (*values.values(), self.run)
        )


def decision_data(step: Step, number: int, plan: int, new: int | None) -> dict[str, Any]:
    """As the page's document has it; `plan` is the number of the plan in effect, `new` that of the
    plan that was decided.
    """
    decision = step.decision
    expected: dict[str, Any] | None = None
    changes: tuple[str, ...] = ()
    if decision is not None and decision.plan is not None:
        expected = {
            "pause_s": decision.pause_s,
            "cost_per_hour": decision.cost_per_hour,
            "gain": json_data(decision.gain),
        }
        changes = decision.plan.changes_from(step.plan)
    return {
        "number": number,
        "at_s": step.at_s,
        "outcome": step.outcome,
        "forced": step.forced,
        "kind": None if decision is None else decision.kind,
        "reason": step.note if decision is None else decision.reason,
        "expected": expected,
        "changes": list(changes),
        "change": json_data(step.change),
        "seen": None,
        "note": "" if decision is None else step.note,
        "plan": new,
        "before": plan,
    }


def moment() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def started_of(process: int) -> float:
    """When that process was started: its number is given to another one later."""
    import psutil

    return float(psutil.Process(process).create_time())


def _figures(predicted: dict[str, Any] | None) -> dict[str, Any]:
    """Of the whole run, not of its parts."""
    parts = (predicted or {}).items()
    return {name: value for name, value in parts if not isinstance(value, list | dict)}


def _head_data(head: Head) -> dict[str, Any]:
    return {
        "goals": exact_data(head.goals),
        "rules": None if head.rules is None else exact_data(head.rules),
        "rate": head.rate,
        "control": None if head.control is None else str(head.control.resolve()),
        "slotwise": head.slotwise,
    }


def _step_data(step: Step) -> dict[str, Any]:
    decision = step.decision
    return {
        "at_s": step.at_s,
        "outcome": step.outcome,
        "kind": None if decision is None else decision.kind,
        "reason": "" if decision is None else decision.reason,
        "note": step.note,
    }


def _is_told(step: Step, before: Step | None) -> bool:
    """A decision to change; a recommendation that stands is written once."""
    if step.outcome == "recommended":
        return step.decision is not None and not _repeats(step, before)
    return step.outcome in ("applied", "refused")


def _repeats(step: Step, before: Step | None) -> bool:
    """The step before came to the same, without a change."""
    if before is None or step.outcome == "applied" or step.outcome != before.outcome:
        return False
    if before.decision is None or step.decision is None:
        return False
    one, other = before.decision.plan, step.decision.plan
    return one is not None and other is not None and kind_of(one, other) == "keep"
