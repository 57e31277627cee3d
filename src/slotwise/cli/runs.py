"""`slotwise runs`: runs that are kept, listed, shown, compared, exported and removed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from slotwise.cli import DONE
from slotwise.cli.output import deliver, note, show, write_file
from slotwise.cli.parameters import Json, integer_from
from slotwise.cli.showing import RunsFile
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from slotwise.runs import Runs

Name = Annotated[str, Parameter(help="The number of a run, or 'last'.")]

runs = App(name="runs", help_epilogue="")


@runs.default
def listed(*, runs: RunsFile = None, json: Json = False) -> int:
    """List the runs that are kept, newest first."""
    from slotwise.dashboard.document import run_data
    from slotwise.report.runs import runs_report
    from slotwise.runs import Runs

    with Runs.opened(_path(runs)) as kept:
        found = kept.all()
    data = [run_data(run) for run in found]
    deliver(lambda: json_text(data), lambda: runs_report(found), json=json, output=None)
    return DONE


@runs.command(name="show")
def shown(
    run: Name = "last",
    /,
    *,
    report: Annotated[
        Path | None, Parameter(help="Write the page of the run to this HTML file.")
    ] = None,
    runs: RunsFile = None,
    json: Json = False,
) -> int:
    """Show a run: how it was made, its figures, its decisions and events."""
    from slotwise.cli.showing import check_report, write_report
    from slotwise.dashboard.document import run_document
    from slotwise.report.runs import run_report
    from slotwise.runs import Runs
    from slotwise.runs.summary import summary_of

    check_report(report)
    with Runs.opened(_path(runs)) as kept:
        document, summary = run_document(kept, run, whole=json), summary_of(kept, run)
    if report is not None:
        write_report(_path(runs), run, report)
    if json:
        print(json_text(document), end="")
    else:
        show(run_report(document, summary))
    return DONE


@runs.command
def compare(*run: Name, runs: RunsFile = None, json: Json = False) -> int:
    """Show the figures of several runs side by side."""
    from slotwise.report.runs import comparison_report
    from slotwise.runs import Runs
    from slotwise.runs.summary import summary_of

    names = run or ("last",)
    with Runs.opened(_path(runs)) as kept:
        found = [summary_of(kept, name) for name in names]
    deliver(lambda: json_text(found), lambda: comparison_report(found), json=json, output=None)
    return DONE


@runs.command
def export(
    run: Name = "last",
    /,
    *,
    output: Annotated[Path | None, Parameter(help="Write to this file.")] = None,
    points: Annotated[
        int,
        Parameter(converter=integer_from(1), help="At most about so many points of the history."),
    ] = 100_000,
    runs: RunsFile = None,
) -> int:
    """Print all that is kept of a run as JSON."""
    from slotwise.runs import Runs

    with Runs.opened(_path(runs)) as kept:
        text = json_text(_exported(kept, run, points))
    if output is None:
        print(text, end="")
    else:
        write_file(output, text)
        note(f"wrote {output}")
    return DONE


@runs.command(name="remove")
def removed(*run: Name, runs: RunsFile = None) -> int:
    """Remove runs, with all that is kept of them."""
    from slotwise.runs.reading import remove

    if not run:
        problem = "nothing to remove: expected numbers of runs, or 'last'"
        raise CycloptsError(msg=problem, command_chain=("runs", "remove"))
    for id in remove(_path(runs), run):
        note(f"removed run {id}")
    return DONE


def _exported(kept: Runs, run: str, points: int) -> dict[str, Any]:
    from slotwise.dashboard.document import history_data, run_document
    from slotwise.json_data import json_data

    return {
        "document": json_data(run_document(kept, run, whole=True)),
        "history": history_data(kept, run, points=points),
    }


def _path(runs: Path | None) -> Path:
    from slotwise.runs import usual_file

    return runs or usual_file()
