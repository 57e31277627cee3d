"""The one look of all tables."""

from __future__ import annotations

from rich import box
from rich.table import Table


def table(*columns: str, gap: int = 2) -> Table:
    """Columns whose heading starts with `>` are numbers, right-aligned; with `<`, names that stay
    on one line. `gap` is the number of blanks between columns.
    """
    made = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, gap - 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="bold",
    )
    for column in columns:
        made.add_column(
            column.lstrip("<>"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=column.startswith(("<", ">")),
            overflow="fold",
        )
    return made
