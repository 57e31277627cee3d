"""The journal of a run under a controller, read back: the steps as the loop made them.

A line that is cut at the end of the file (the run was killed) does not count. Any other line that
cannot be read is an error, with the file and the line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotwise.adaptation import Outcome, Step
from slotwise.adaptation_journal import VERSION, Head
from slotwise.model import Change, Decision, Gain, Plan, SlotwiseError
from slotwise.model.decision import Kind
from slotwise.spec.errors import one_line
from slotwise.spec.exact_json import exact_value
from slotwise.spec.observation_json import recorded_observation
from slotwise.spec.plan_json import plan_from_json


@dataclass(frozen=True)
class Recording:
    """A run as its journal has it."""

    head: Head
    steps: tuple[Step, ...]
    without_traffic: int = 0
    """Steps whose traffic between threads was too large to record."""
    is_cut: bool = False
    """The last line is not whole."""
    unfinished: Unfinished | None = None
    """The change in which the program was killed."""


@dataclass(frozen=True)
class Unfinished:
    """A change that was begun; what came of it is not known."""

    at_s: float
    """When it was decided."""
    plan: Plan
    """The one that was in effect."""
    decision: Decision
    forced: bool = False


@dataclass(frozen=True)
class _Expected:
    gain: Gain | None
    pause_s: float
    cost_per_hour: float | None
    wait_s: float = 0.0


@dataclass(frozen=True)
class _Decision:
    kind: Kind
    reason: str
    expected: _Expected | None
    plan: int | None
    changes: tuple[str, ...] = ()
    """For readers of the file."""


@dataclass(frozen=True)
class _Step:
    at_s: float
    since_s: float
    plan: int
    outcome: Outcome
    decision: _Decision | None
    change: Change | None
    decided_in_s: float
    forced: bool = False
    note: str = ""
    events: tuple[str, ...] = ()
    resumed: bool = False


@dataclass(frozen=True)
class _Change:
    at_s: float
    plan: int
    decision: _Decision
    forced: bool = False


@dataclass
class _Reader:
    """Line by line. Raises ValueError with a sentence for one that cannot be read."""

    head: Head | None = None
    steps: list[Step] = field(default_factory=list)
    without_traffic: int = 0
    unfinished: Unfinished | None = None
    _plans: dict[int, Plan] = field(default_factory=dict)

    def read(self, line: str) -> None:
        try:
            data = json.loads(line)
        except ValueError as error:
            raise ValueError(f"the line is not JSON ({error})") from None
        kind = data.pop("record", None) if isinstance(data, dict) else None
        if self.head is None:
            self.head = _head(kind, data)
        elif kind == "plan":
            self._read_plan(data)
        elif kind == "step":
            self._read_step(data)
            self.unfinished = None
        elif kind == "change":
            found = exact_value(_Change, data)
            _check_finite(found.at_s)
            plan, decision = self._plan(found.plan), self._decision(found.decision)
            self.unfinished = Unfinished(found.at_s, plan, decision, found.forced)
        else:
            raise ValueError(f"unknown record {kind!r}: expected change, plan or step")

    def _read_plan(self, data: dict[str, Any]) -> None:
        number = data.get("number")
        if not isinstance(number, int):
            raise ValueError("the plan has no number")
        self._plans[number] = plan_from_json(json.dumps(data.get("plan")))

    def _read_step(self, data: dict[str, Any]) -> None:
        known = {key: data[key] for key in _Step.__dataclass_fields__ if key in data}
        found = exact_value(_Step, known)
        _check_finite(found.at_s - found.since_s)
        seen = data.get("observation")
        step = Step(
            at_s=found.at_s,
            since_s=found.since_s,
            plan=self._plan(found.plan),
            seen=None if seen is None else recorded_observation(seen, "observation"),
            outcome=found.outcome,
            decision=None if found.decision is None else self._decision(found.decision),
            forced=found.forced,
            change=found.change,
            note=found.note,
            events=found.events,
            decided_in_s=found.decided_in_s,
            resumed=found.resumed,
        )
        self.steps.append(step)
        self.without_traffic += "without_traffic" in data

    def _decision(self, found: _Decision) -> Decision:
        if found.expected is None or found.plan is None:
            return Decision(found.kind, found.reason)
        wanted = found.expected
        plan = self._plan(found.plan)
        return Decision(
            found.kind,
            found.reason,
            plan,
            wanted.gain,
            wanted.pause_s,
            wanted.cost_per_hour,
            wanted.wait_s,
        )

    def _plan(self, number: int) -> Plan:
        if number not in self._plans:
            raise ValueError(f"plan {number} is not in the lines before")
        return self._plans[number]


def read_recording(path: Path) -> Recording:
    """The run in the file that `--decisions` wrote. Raises SlotwiseError."""
    reader, is_cut, number = _Reader(), False, 0
    for number, line in enumerate(_lines(path), 1):
        is_cut = not line.endswith("\n")
        if is_cut and number > 1:
            break
        try:
            reader.read(line)
        except (ValueError, SlotwiseError) as error:
            raise SlotwiseError(one_line(f"{path}:{number}: {error}")) from None
    if reader.head is None:
        raise SlotwiseError(f"{path}: {_FOREIGN}")
    return Recording(
        reader.head, tuple(reader.steps), reader.without_traffic, is_cut, reader.unfinished
    )


_FOREIGN = "not a journal of decisions: expected a file that '--decisions' wrote"


def _head(kind: object, data: Any) -> Head:
    if kind != "run":
        raise ValueError(_FOREIGN)
    version = data.pop("version", None)
    if version != VERSION:
        raise ValueError(
            f"the journal has version {version!r}: this Slotwise reads version {VERSION}"
        )
    return exact_value(Head, data)


def _check_finite(seconds: float) -> None:
    if not math.isfinite(seconds):
        raise ValueError("the time is not finite")


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from file
    except OSError as error:
        raise SlotwiseError(f"{path}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise SlotwiseError(f"{path}: {_FOREIGN}") from None
