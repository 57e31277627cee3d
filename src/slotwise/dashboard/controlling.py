"""A page's wishes for a run, through the control file: as a person would write it."""

from __future__ import annotations

import secrets
from pathlib import Path

from slotwise.control_file import Forced
from slotwise.model import SlotwiseError


def forced(path: Path, plan: str | None) -> Forced | None:
    """What the control file at `path` says to change to this plan, given as JSON, which is written
    beside it; None: no change, also none that the run has not acted upon yet. Raises SlotwiseError.
    """
    if plan is None:
        return None
    id = f"page-{secrets.token_hex(6)}"
    file = path.with_name(f"{path.stem}-{id}.json")
    try:
        file.write_text(plan, encoding="utf-8")
    except OSError as error:
        raise SlotwiseError(f"the plan cannot be written ({error})") from None
    return Forced(id, file.name)
