"""`slotwise examples`: the bundled spec files."""

from __future__ import annotations

import re
from typing import Annotated

from cyclopts import Parameter

from slotwise.cli.output import show
from slotwise.cli.parameters import Json
from slotwise.json_data import json_text


def examples(
    *,
    show_name: Annotated[
        str | None, Parameter(name="--show", help="Print the YAML of this example.")
    ] = None,
    json: Json = False,
) -> None:
    """List the bundled examples, or show one."""
    from slotwise import workloads
    from slotwise.model import SlotwiseError
    from slotwise.suggestions import instead_of

    if show_name is not None:
        if show_name not in workloads.names():
            instead = instead_of(show_name, workloads.names())
            raise SlotwiseError(f"unknown example '{show_name}': {instead}")
        print(workloads.read(show_name), end="")
        return
    lines = {name: first_sentence(workloads.read(name)) for name in workloads.names()}
    if json:
        print(json_text(lines), end="")
    else:
        _show_table(lines)


def first_sentence(spec: str) -> str:
    """Of the comment that a spec starts with, what is in brackets left out.

    >>> first_sentence("# Word count (Liu et al.) over tweets. And more.")
    'Word count over tweets.'
    """
    comment = re.match(r"(#.*\n?)*", spec)
    text = " ".join(re.sub(r"^# ?", "", comment[0] if comment else "", flags=re.M).split())
    return re.sub(r" *\([^)]*\)", "", text).partition(". ")[0].rstrip(".") + "."


def _show_table(lines: dict[str, str]) -> None:
    from rich.text import Text

    from slotwise.report.tables import table

    made = table("Example", "What it is")
    for name, line in lines.items():
        made.add_row(Text(name, "bold"), Text(line))
    show(made)
