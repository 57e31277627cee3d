"""The one look of all tables."""

from __future__ import annotations

from rich import box
from rich.table import Table


def table(*columns: str, title: str | None = None) -> Table:
    """Columns whose heading starts with `>` are numbers: right-aligned, never wrapped."""
    made = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
    )
    for column in columns:
        number = column.startswith(">")
        made.add_column(
            column.removeprefix(">"),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    return made
