"""`slotwise study`: a paper's evaluation measured again, as files with tables and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from slotwise.cli import DONE
from slotwise.cli.output import note, show, with_progress, write_file
from slotwise.cli.parameters import Json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from slotwise.studies import Study

Output = Annotated[
    Path | None,
    Parameter(
        help="The directory to write to. Default: study-NAME, or study-NAME-on-spark, which also "
        "keeps finished trials for the next call."
    ),
]
Quick = Annotated[
    bool,
    Parameter(
        negative=(),
        show_default=False,
        help="Run fewer points and shorter simulations, for a first look.",
    ),
]


On = Annotated[
    Literal["simulator", "spark"],
    Parameter(help="Simulate, or measure on a Spark cluster of this machine."),
]


def study(
    name: str,
    /,
    *,
    on: On = "simulator",
    output: Output = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Run one study and publish it."""
    from slotwise.report.charts import check_can_draw
    from slotwise.studies import publish

    _check_name(name, on)
    directory = output or (None if json and on == "simulator" else usual_directory(name, on))
    if directory:
        check_can_draw()
        _make(directory)
    made = _made(name, on, directory, quick)
    if directory:
        for file, content in publish.published(made).items():
            write_file(directory / file, content)
        note(f"wrote {directory / name}.html and the files it is made of")
    if json:
        print(publish.json_text(made), end="")
    else:
        show(_report(made))
    return DONE


def usual_directory(name: str, on: str) -> Path:
    """Where a study writes to if nobody says otherwise."""
    return Path(f"study-{name}" if on == "simulator" else f"study-{name}-on-spark")


def _check_name(name: str, on: str) -> None:
    from slotwise import studies
    from slotwise.studies import on_spark

    studies.check_name(name)
    if on == "spark":
        on_spark.check_name(name)


def _made(name: str, on: str, directory: Path | None, quick: bool) -> Study:
    from slotwise import studies
    from slotwise.studies import on_spark

    effort = studies.Effort(quick=quick, each=with_progress)
    if on == "simulator":
        return studies.run(name, effort)
    from slotwise.spark.failures import silence_pyspark

    silence_pyspark()
    assert directory is not None
    return on_spark.run(name, effort, directory, note)


def _make(directory: Path) -> None:
    """Before the work, so that a bad path costs no time."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise type(error)(error.errno, "not a directory", str(directory)) from None


def _report(made: Study) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from slotwise.report.tables import table
    from slotwise.studies.publish import compared

    rows = table("What", "Paper", "Ours", "<Verdict")
    for what, paper, ours, verdict, _, _ in compared(made):
        rows.add_row(what, paper, ours, verdict)
    remarks = [Text(f"\n{remark}") for remark in made.remarks]
    shown = [rows] if made.comparisons else []
    return Group(Text(f"{made.title}\n", "bold"), *shown, *remarks)
