"""What a run under a controller did, as JSON lines: one per period, written at once.

A line says what was decided and why, whether it was applied, what the change took beside what was
expected, and the observation that it rests on. Traffic between threads and series are left out:
they would be most of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from slotwise.adaptation import Step
from slotwise.json_data import json_data
from slotwise.model import Decision, Observation, SlotwiseError
from slotwise.spec.observation_json import observation_data, verdicts_data
from slotwise.spec.plan_json import plan_to_json


def journaled(steps: Iterable[Step], path: Path | None) -> Iterator[Step]:
    """The steps one by one, each written to `path` before it is passed on. Raises SlotwiseError
    if that cannot be written.
    """
    if path is None:
        yield from steps
        return
    with _opened(path) as file:
        for step in steps:
            try:
                file.write(step_line(step))
                file.flush()
            except OSError as error:
                raise _unwritable(path, error) from None
            yield step


def step_line(step: Step) -> str:
    return json.dumps(step_data(step), ensure_ascii=False, allow_nan=False) + "\n"


def step_data(step: Step) -> dict[str, Any]:
    """What is not there is left out."""
    plan = step.plan
    data = {
        "at_s": step.at_s,
        "since_s": step.since_s,
        "outcome": step.outcome,
        "forced": step.forced or None,
        "note": step.note or None,
        "decision": None if step.decision is None else decision_data(step.decision, step),
        "decided_in_s": round(step.decided_in_s, 6),
        "change": None if step.change is None else json_data(step.change),
        "threads": plan.threads,
        "machines": plan.machines,
        "slots": plan.slots,
        "cost_per_hour": plan.cost_per_hour,
        "goals": None if step.seen is None else verdicts_data(plan.judged(step.seen)),
        "observation": None if step.seen is None else _seen_data(step.seen),
    }
    return {key: value for key, value in data.items() if value is not None}


def decision_data(decision: Decision, step: Step) -> dict[str, Any]:
    """With the new plan as `slotwise plan --json` prints it, and what it changes."""
    data = {
        "kind": decision.kind,
        "reason": decision.reason,
        "expected": {
            "gain": json_data(decision.gain),
            "pause_s": decision.pause_s,
            "cost_per_hour": decision.cost_per_hour,
        },
    }
    if decision.plan is None:
        return {key: data[key] for key in ("kind", "reason")}
    changes = list(decision.plan.changes_from(step.plan))
    return {**data, "changes": changes, "plan": json.loads(plan_to_json(decision.plan))}


def _seen_data(seen: Observation) -> dict[str, Any]:
    short = replace(seen, thread_traffic=None, slot_traffic=None, node_traffic=None, series=None)
    return observation_data(short)


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> SlotwiseError:
    return SlotwiseError(
        f"{path}: the decisions cannot be written ({error.strerror}): use another --decisions"
    )
