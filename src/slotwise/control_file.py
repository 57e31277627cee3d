"""What a person says while a run adapts: a JSON file that is read at every period.

    {"hold": true}                                  no changes for now
    {"forbid": ["re-plan"]}                         only other placements
    {"force": {"id": 1, "plan": "plan.json"}}       change to this plan at the next period, once
    {"force": {"id": 2, "plan": "recommended"}}     change to what was recommended last

All keys may be given together; without the file, or with {}, the controller is free. A file that
cannot be read holds all changes, because somebody wanted to say something.
"""

from __future__ import annotations

import fcntl
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slotwise.model import Plan, SlotwiseError
from slotwise.suggestions import instead_of

RECOMMENDED = "recommended"
_KINDS = ("re-place", "re-plan")
_KEYS = ("hold", "forbid", "force")


@dataclass(frozen=True)
class Forced:
    """A change that a person wants; each id is acted upon once."""

    id: str
    plan: str
    """The path of a plan's JSON, from the control file's folder on; or RECOMMENDED."""


@dataclass(frozen=True)
class Control:
    """What the file says."""

    hold: bool = False
    forbid: frozenset[str] = frozenset()
    """Kinds of decisions that are not applied."""
    force: Forced | None = None


FREE = Control()


def control_of(checkpoint: Path) -> Path:
    """The control file of the run of a checkpoint, where none is named: beside it, and after it."""
    whole = checkpoint.resolve()
    return whole.with_name(f"{whole.name}.control.json")


def read_control(path: Path | None) -> Control:
    """What the file at `path` says; FREE where there is none. Raises SlotwiseError."""
    if path is None:
        return FREE
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return FREE
    except (OSError, UnicodeDecodeError) as error:
        raise SlotwiseError(f"the control file {path} cannot be read ({error})") from None
    try:
        return _control(json.loads(content))
    except ValueError as error:
        raise SlotwiseError(f"the control file {path}: {error}") from None


def change_control(path: Path, **said: Any) -> None:
    """Say this, by the names of Control; the rest stays as it is, also what other programs say at
    the same moment. Raises SlotwiseError.
    """
    try:
        with _locked(path):
            _write(path, replace(read_control(path), **said))
    except OSError as error:
        raise SlotwiseError(f"the control file {path} cannot be written ({error})") from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One writer at a time, of all programs on this machine."""
    with path.with_name(f".{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, control: Control) -> None:
    """All of it or nothing: a run may read it at any moment."""
    force = control.force
    data = {
        "hold": control.hold,
        "forbid": sorted(control.forbid),
        **({} if force is None else {"force": {"id": force.id, "plan": force.plan}}),
    }
    written = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        written.write_text(json.dumps(data) + "\n", encoding="utf-8")
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)


def forced_plan(forced: Forced, path: Path) -> Plan:
    """The plan that the control file at `path` names. Raises SlotwiseError."""
    from slotwise.spec.plan_json import read_plan

    return read_plan(path.parent / forced.plan)


def _control(data: Any) -> Control:
    """Raises ValueError, with the end of a sentence."""
    if not isinstance(data, dict):
        raise ValueError('expected an object such as {"hold": true}')
    for key in data:
        if key not in _KEYS:
            raise ValueError(f"unknown key '{key}': {instead_of(key, _KEYS)}")
    hold, forbid = data.get("hold", False), data.get("forbid", [])
    if not isinstance(hold, bool):
        raise ValueError(f"invalid value '{hold}' for hold: expected true or false")
    if not (isinstance(forbid, list) and set(map(str, forbid)) <= set(_KINDS)):
        raise ValueError(
            f"invalid value '{forbid}' for forbid: expected a list of re-place, re-plan"
        )
    return Control(hold, frozenset(forbid), _forced(data.get("force")))


def _forced(data: Any) -> Forced | None:
    match data:
        case None:
            return None
        case {"id": int() | str() as number, "plan": str(plan)} if len(data) == 2:
            return Forced(str(number), plan)
    raise ValueError(
        'invalid value for force: expected an object such as {"id": 1, "plan": "plan.json"}'
    )
