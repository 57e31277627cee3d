"""`slotwise simulate --sweep`: a grid of simulations, as a table, JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import csv_text, note, show, with_progress, write_file
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from slotwise.journal import Journal
    from slotwise.parts import P, Runner
    from slotwise.simulation.sweep import Point


def run_sweep(
    file: Path,
    master: str | None,
    journal_file: Path | None,
    form: Literal["json", "csv"] | None,
    output: Path | None,
) -> int:
    """Exits 1 if no point has a plan; what each goal came to is in the table."""
    from slotwise.journal import Journal
    from slotwise.spec.sweep import load_sweep

    points = load_sweep(file)
    runner: Runner[Point] = parallel(master)
    with Journal(journal_file or file.with_name(f"{file.name}.journal")) as journal:
        rows = list(resumed(points, journal, runner))
    if output:
        write_file(output, csv_text(rows) if output.suffix == ".csv" else json_text(rows))
        note(f"wrote {output}")
    if form == "json":
        print(json_text(rows), end="")
    elif form == "csv":
        print(csv_text(rows), end="")
    else:
        from slotwise.report.sweep import sweep_report

        show(sweep_report(rows))
    if any(row["refused"] is None for row in rows):
        return DONE
    note("slotwise: none of these points has a plan that can be simulated")
    return ERROR


def parallel(master: str | None) -> Runner[P]:
    """In processes of this machine, or on Spark."""
    from slotwise.model import SlotwiseError
    from slotwise.parts import run_in_processes

    if master is None:
        return run_in_processes
    try:
        from slotwise.spark.sweep import run_on_spark
    except ModuleNotFoundError as error:
        raise SlotwiseError(f"--master needs {error.name}: pip install 'slotwise[spark]'") from None
    return partial(run_on_spark, master=master)


def resumed(
    points: Sequence[P], journal: Journal, runner: Runner[P], what: str = "simulating"
) -> Iterator[dict[str, Any]]:
    """Run what is missing, then all rows from the journal in the order of the points."""
    from slotwise.parts import finished

    done = journal.rows()
    before = sum(point.key in done for point in points)
    if before:
        from slotwise.model import counted

        verb = "is" if before == 1 else "are"
        note(f"{before:,} of {counted(len(points), 'point')} {verb} in {journal.path} already")
    for _ in with_progress(finished(points, journal, runner), what, len(points)):
        pass
    done = journal.rows()
    return (done[point.key] for point in points)
