"""A page's wishes for a run, through the control file: as a person would write it."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from pathlib import Path

from slotwise.control_file import RECOMMENDED, Forced, read_control, write_control
from slotwise.model import SlotwiseError


class Unknown(SlotwiseError):
    """There is no such what-if."""


def hold(path: Path, value: bool) -> None:
    """Raises SlotwiseError, as all of these."""
    write_control(path, dataclasses.replace(read_control(path), hold=value))


def forbid(path: Path, kinds: frozenset[str]) -> None:
    write_control(path, dataclasses.replace(read_control(path), forbid=kinds))


def force(path: Path, wanted: str | None, answers: Mapping[str, str]) -> None:
    """`wanted` is `recommended`, or the id of a what-if; None: nothing, also not what the run has
    not acted upon yet.
    """
    said = read_control(path)
    if wanted is None:
        write_control(path, dataclasses.replace(said, force=None))
        return
    id = f"page-{secrets.token_hex(6)}"
    plan = RECOMMENDED
    if wanted != RECOMMENDED:
        if wanted not in answers:
            raise Unknown(f"there is no what-if '{wanted}': ask again")
        plan = f"{path.stem}-{id}.json"
        try:
            (path.parent / plan).write_text(answers[wanted], encoding="utf-8")
        except OSError as error:
            raise SlotwiseError(f"the plan cannot be written ({error})") from None
    write_control(path, dataclasses.replace(said, force=Forced(id, plan)))
