"""`slotwise compare`: many plans, as a table, JSON or CSV."""

from __future__ import annotations

import csv as csv_format
import io
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import console, json_text, note, show
from slotwise.cli.parameters import Algorithms, Json, Rates, Spec

if TYPE_CHECKING:
    from slotwise.comparison import Candidate

_FORMAT = Group("Format", validator=mutually_exclusive)


def compare(
    spec: Spec,
    /,
    *,
    rates: Rates = (),
    allocators: Annotated[Algorithms, Parameter(help="lsa,mba. Default: all.")] = (),
    placers: Annotated[Algorithms, Parameter(help="sam,auto. Default: all but auto.")] = (),
    provisioner: Annotated[str | None, Parameter(help="Default: the spec's.")] = None,
    json: Annotated[Json, Parameter(group=_FORMAT)] = False,
    csv: Annotated[
        bool, Parameter(negative=(), group=_FORMAT, show_default=False, help="Print CSV.")
    ] = False,
) -> int:
    """Make many plans and show their figures."""
    import slotwise
    from slotwise import comparison, registry

    pipeline = slotwise.load(spec)
    pairs = len(allocators or registry.ALLOCATORS) * len(placers or registry.PLACERS)
    made = comparison.candidates(pipeline, rates, allocators, placers, provisioner)
    found = tuple(_with_progress(made, pairs * max(1, len(rates))))
    if json:
        print(json_text([_finite(row) for row in _rows(found)]), end="")
    elif csv:
        print(_csv(_rows(found)), end="")
    else:
        from slotwise.report.comparison import comparison_report

        show(comparison_report(found))
    if any(candidate.plan for candidate in found):
        return DONE
    note("slotwise: none of these pairs has a plan")
    return ERROR


def _with_progress(made: Iterable[Candidate], total: int) -> Iterator[Candidate]:
    if not sys.stderr.isatty():
        yield from made
        return
    from rich.progress import track

    yield from track(made, "comparing", total=total, console=console(stderr=True), transient=True)


def _rows(found: Sequence[Candidate]) -> list[dict[str, float | int | str | None]]:
    return [candidate.row() for candidate in found]


def _finite(row: dict[str, float | int | str | None]) -> dict[str, float | int | str | None]:
    """JSON has no infinity: null stands for it."""
    return {
        key: None if isinstance(value, float) and math.isinf(value) else value
        for key, value in row.items()
    }


def _csv(rows: Sequence[dict[str, float | int | str | None]]) -> str:
    text = io.StringIO()
    writer = csv_format.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
