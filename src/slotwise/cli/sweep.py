"""`slotwise simulate --sweep`: a grid of simulations, as a table, JSON or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import csv_text, note, show, write_file
from slotwise.cli.parts import parallel, resumed
from slotwise.json_data import json_text

if TYPE_CHECKING:
    from slotwise.parts import Runner
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
