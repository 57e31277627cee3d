"""`slotwise init`: a commented spec file that plans as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from slotwise.cli.output import note, write_file

STARTER = "starter"


def init(
    file: Annotated[Path, Parameter(help="The file to write.")] = Path("slotwise.yaml"),
    /,
    *,
    force: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Overwrite an existing file.")
    ] = False,
) -> None:
    """Write a commented spec file to start from."""
    from slotwise import workloads
    from slotwise.model import SlotwiseError

    if file.is_file() and not force:
        raise SlotwiseError(f"{file} already exists: choose another file, or add --force")
    write_file(file, workloads.read(STARTER))
    note(f"wrote {file}: plan it with 'slotwise plan {file}'")
