"""What a run under a controller did, as JSON lines that are written at once.

The first line says how it was run. Each plan has a line with its number, before the first line that
names it. Each period has a line: what was decided and why, whether it was applied, what the change
took beside what was expected, and the observation that it rests on. A change has a line of its own
before it is applied, which is the last one if the program is killed meanwhile. recording.py reads
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, is_dataclass
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from slotwise import __version__, plugins
from slotwise.adaptation import Adaptation, Rules, Step
from slotwise.controllers.base import Controller
from slotwise.model import Choice, Decision, Goals, Plan, SlotwiseError
from slotwise.spec.exact_json import exact_data
from slotwise.spec.observation_json import recorded_data, traffic_is_large, verdicts_data
from slotwise.spec.plan_json import plan_to_json

VERSION = 1


@dataclass(frozen=True)
class Head:
    """How a run was made: the journal's first line."""

    topology: str
    controller: str
    """As on the command line."""
    rules: Rules
    goals: Goals
    slotwise: str = __version__
    """Its version."""

    @classmethod
    def of(cls, loop: Adaptation) -> Head:
        name = loop.deployment.plan.pipeline.topology.name
        return cls(name, str(choice_of(loop.controller)), loop.rules, loop.goals)


def journaled(loop: Adaptation, seconds: float, path: Path | None) -> Iterator[Step]:
    """The loop's steps one by one, each written to `path` before it is passed on. Raises
    SlotwiseError if that cannot be written.
    """
    steps = loop.steps(seconds)
    if path is None:
        yield from steps
        return
    writer = Writer(Head.of(loop))
    with _opened(path) as file:
        _write(file, path, [writer.head_line()])
        loop.each_change = lambda step: _write(file, path, writer.change_lines(step))
        for step in steps:
            _write(file, path, writer.lines(step))
            yield step


def set_aside(path: Path) -> Path | None:
    """A journal that is there already gets another name, the first that is free of NAME-1, NAME-2,
    …; which. None: there is none, or it is empty. Raises SlotwiseError.
    """
    try:
        if not (path.is_file() and path.stat().st_size):
            return None
        names = (path.with_stem(f"{path.stem}-{number}") for number in count(1))
        return path.rename(next(name for name in names if not name.exists()))
    except OSError as error:
        raise _unwritable(path, error) from None


@dataclass
class Writer:
    """Steps as lines; numbers plans by what they say."""

    head: Head
    _numbers: dict[str, int] = field(default_factory=dict)
    _last: tuple[Plan, int] | None = None

    def head_line(self) -> str:
        return _line({"record": "run", "version": VERSION, **exact_data(self.head)})

    def lines(self, step: Step) -> list[str]:
        """The step's line, after those of plans that it is the first to name."""
        plans: list[str] = []
        in_effect = self._number(step.plan, plans)
        decided = step.decision.plan if step.decision else None
        new = None if decided is None else self._number(decided, plans)
        self._last = (step.plan, in_effect)
        return [
            *plans,
            _line({"record": "step", **step_data(step, self.head.goals, in_effect, new)}),
        ]

    def change_lines(self, step: Step) -> list[str]:
        """Of the change that the step is about to make, after those of plans, likewise."""
        plans: list[str] = []
        assert step.decision is not None
        assert step.decision.plan is not None
        in_effect = self._number(step.plan, plans)
        new = self._number(step.decision.plan, plans)
        self._last = (step.plan, in_effect)
        data = {
            "record": "change",
            "at_s": step.at_s,
            "plan": in_effect,
            "decision": _decision_data(step.decision, step, new),
        }
        return [*plans, _line(data | ({"forced": True} if step.forced else {}))]

    def _number(self, plan: Plan, lines: list[str]) -> int:
        """Equal plans have one number."""
        if self._last is not None and self._last[0] is plan:
            return self._last[1]
        text = plan_to_json(plan)
        if text not in self._numbers:
            self._numbers[text] = len(self._numbers) + 1
            data = {"record": "plan", "number": self._numbers[text], "plan": json.loads(text)}
            lines.append(_line(data))
        return self._numbers[text]


def step_data(step: Step, goals: Goals, plan: int, new: int | None) -> dict[str, Any]:
    """`plan` is the number of the plan in effect, `new` that of the plan that was decided. What is
    not there is left out.
    """
    seen = step.seen
    data = {
        "at_s": step.at_s,
        "since_s": step.since_s,
        "plan": plan,
        "outcome": step.outcome,
        "forced": step.forced or None,
        "note": step.note or None,
        "events": list(step.events) or None,
        "resumed": step.resumed or None,
        "decision": None if step.decision is None else _decision_data(step.decision, step, new),
        "decided_in_s": round(step.decided_in_s, 6),
        "change": None if step.change is None else exact_data(step.change),
        "threads": step.plan.threads,
        "machines": step.plan.machines,
        "slots": step.plan.slots,
        "cost_per_hour": step.plan.cost_per_hour,
        "goals": None if seen is None else verdicts_data(goals.judge(seen)),
        "observation": None if seen is None else recorded_data(seen),
        "without_traffic": True if seen is not None and traffic_is_large(seen) else None,
    }
    return {key: value for key, value in data.items() if value is not None}


def _decision_data(decision: Decision, step: Step, new: int | None) -> dict[str, Any]:
    if decision.plan is None:
        return {"kind": decision.kind, "reason": decision.reason}
    expected = {
        "gain": decision.gain,
        "pause_s": decision.pause_s,
        "wait_s": decision.wait_s,
        "cost_per_hour": decision.cost_per_hour,
    }
    return {
        "kind": decision.kind,
        "reason": decision.reason,
        "expected": {key: exact_data(each) for key, each in expected.items() if each is not None},
        "changes": list(decision.plan.changes_from(step.plan)),
        "plan": new,
    }


def choice_of(controller: Controller) -> Choice:
    """Its name and the options that differ from their defaults; a controller's fields are its
    options.
    """
    known = type(controller)
    usual: dict[str, Any] = plugins.options(known) if is_dataclass(known) else {}
    given = {name: getattr(controller, name) for name in usual}
    return Choice(
        controller.name, {name: value for name, value in given.items() if value != usual[name]}
    )


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def _write(file: TextIO, path: Path, lines: Iterable[str]) -> None:
    try:
        file.writelines(lines)
        file.flush()
    except OSError as error:
        raise _unwritable(path, error) from None


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> SlotwiseError:
    return SlotwiseError(
        f"{path}: the decisions cannot be written ({error.strerror}): use another --decisions"
    )
