"""`slotwise simulate --sweep`: a grid of simulations, as a table, JSON or CSV."""

from __future__ import annotations

import csv as csv_format
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import console, json_text, note, show, write_file

if TYPE_CHECKING:
    from slotwise.simulation.sweep import Point, Runner


def run_sweep(
    file: Path,
    master: str | None,
    journal_file: Path | None,
    form: Literal["json", "csv"] | None,
    output: Path | None,
) -> int:
    """Exits 1 if no point has a plan; what each goal came to is in the table."""
    from slotwise.simulation.journal import Journal
    from slotwise.spec.sweep import load_sweep

    points = load_sweep(file)
    runner = _runner(master)
    with Journal(journal_file or file.with_name(f"{file.name}.journal")) as journal:
        rows = list(_rows(points, journal, runner))
    if output:
        write_file(output, _csv(rows) if output.suffix == ".csv" else json_text(rows))
        note(f"wrote {output}")
    if form == "json":
        print(json_text(rows), end="")
    elif form == "csv":
        print(_csv(rows), end="")
    else:
        from slotwise.report.sweep import sweep_report

        show(sweep_report(rows))
    if any(row["refused"] is None for row in rows):
        return DONE
    note("slotwise: none of these points has a plan that can be simulated")
    return ERROR


def _runner(master: str | None) -> Runner:
    from slotwise.model import SlotwiseError
    from slotwise.simulation.sweep import run_in_processes

    if master is None:
        return run_in_processes
    try:
        from slotwise.spark.sweep import run_on_spark
    except ModuleNotFoundError as error:
        raise SlotwiseError(f"--master needs {error.name}: pip install 'slotwise[spark]'") from None
    return partial(run_on_spark, master=master)


def _rows(points: Sequence[Point], journal: Any, runner: Runner) -> Iterator[dict[str, Any]]:
    """Run what is missing, then all rows from the journal in the order of the grid."""
    from slotwise.simulation.sweep import finished

    done = journal.rows()
    before = sum(point.key in done for point in points)
    if before:
        note(f"{before:,} of {len(points):,} points are in {journal.path} already")
    for _ in _with_progress(finished(points, journal, runner), len(points)):
        pass
    done = journal.rows()
    return (done[point.key] for point in points)


def _with_progress(keys: Iterable[str], total: int) -> Iterable[str]:
    if not sys.stderr.isatty():
        return keys
    from rich.progress import track

    return track(keys, "simulating", total=total, console=console(stderr=True), transient=True)


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv_format.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
