"""`slotwise compare`: many plans, as a table, JSON or CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import csv_text, note, show, with_progress
from slotwise.cli.parameters import Algorithms, Json, Rates, Spec
from slotwise.cli.showing import Report, check_report, write_comparison_report
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from slotwise.comparison import Candidate

_FORMAT = Group("Format", validator=mutually_exclusive)


def compare(
    spec: Spec,
    /,
    *,
    rates: Rates = (),
    allocators: Annotated[
        Algorithms, Parameter(help="Allocators, separated by commas: lsa,mba. Default: all.")
    ] = (),
    placers: Annotated[
        Algorithms, Parameter(help="Placers, separated by commas: sam,auto. Default: all but auto.")
    ] = (),
    provisioner: Annotated[
        str | None, Parameter(help="The provisioner. Default: the spec's.")
    ] = None,
    json: Annotated[Json, Parameter(group=_FORMAT)] = False,
    csv: Annotated[
        bool,
        Parameter(
            negative=(), group=_FORMAT, show_default=False, help="Print CSV instead of a table."
        ),
    ] = False,
    report: Report = None,
) -> int:
    """Make many plans and show their figures."""
    import slotwise
    from slotwise import comparison, registry

    check_report(report)
    pipeline = slotwise.load(spec)
    chosen = allocators or registry.names("allocator"), placers or registry.names("placer")
    pairs = len(chosen[0]) * len(chosen[1])
    made = comparison.candidates(pipeline, rates, *chosen, provisioner)
    found = tuple(with_progress(made, "comparing", pairs * max(1, len(rates))))
    if json:
        print(json_text(_rows(found)), end="")
    elif csv:
        print(csv_text(_rows(found)), end="")
    else:
        from slotwise.report.comparison import comparison_report

        show(comparison_report(found))
    if report is not None:
        write_comparison_report(pipeline, found, report)
    if any(candidate.plan for candidate in found):
        return DONE
    note("slotwise: no pair has a plan")
    return ERROR


def _rows(found: Sequence[Candidate]) -> list[dict[str, float | int | str | None]]:
    return [candidate.row() for candidate in found]
