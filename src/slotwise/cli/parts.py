"""Work in parts from the command line: in parallel, with progress, and resumed where it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from slotwise.cli.output import note, with_progress

if TYPE_CHECKING:
    from slotwise.journal import Journal
    from slotwise.parts import P, Row, Runner
    from slotwise.studies.study import Rows


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
) -> Iterator[Row]:
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


def kept_rows(journal_file: Path | None, master: str | None = None) -> Rows:
    """What a study of many parts calls: they are done in parallel, those that the journal lacks."""

    def rows(parts: Sequence[P], what: str, /) -> Sequence[Row]:
        from slotwise.journal import Journal

        runner: Runner[P] = parallel(master)
        if journal_file is None:
            done = {part.key: row for part, row in with_progress(runner(parts), what, len(parts))}
            return [done[part.key] for part in parts]
        with Journal(journal_file, "study") as journal:
            return list(resumed(parts, journal, runner, what))

    return rows
