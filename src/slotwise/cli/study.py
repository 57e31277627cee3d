"""`slotwise study`: papers' evaluations and controllers, as files with tables and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import CycloptsError, Parameter

from slotwise.cli import DONE
from slotwise.cli.output import note, show, with_progress, write_file
from slotwise.cli.parameters import Json
from slotwise.cli.parts import kept_rows

if TYPE_CHECKING:
    from rich.console import RenderableType

    from slotwise.studies import Study

Output = Annotated[
    Path | None,
    Parameter(
        help="The directory to write to. Default: study-NAME, or study-NAME-on-spark. It also "
        "keeps finished trials of controllers and of studies on Spark for the next call."
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
    master: Annotated[
        str | None,
        Parameter(
            help="Run the trials of controllers on Spark: local[4], spark://HOST:7077. Default: "
            "processes on this machine."
        ),
    ] = None,
    output: Output = None,
    quick: Quick = False,
    json: Json = False,
) -> int:
    """Run one study and publish it."""
    from slotwise.report.charts import check_can_draw
    from slotwise.studies import publish

    _check_name(name, on, master)
    directory = output or (None if json and on == "simulator" else usual_directory(name, on))
    if directory:
        check_can_draw()
        _make(directory)
    made = _made(name, on, directory, quick, master)
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


def _check_name(name: str, on: str, master: str | None) -> None:
    from slotwise import studies
    from slotwise.studies import on_spark

    studies.check_name(name)
    if on == "spark":
        on_spark.check_name(name)
    if master is not None and name not in studies.IN_PARTS:
        problem = f"--master is only for {', '.join(studies.IN_PARTS)}: remove it"
        raise CycloptsError(msg=problem, command_chain=("study",))


def _made(name: str, on: str, directory: Path | None, quick: bool, master: str | None) -> Study:
    from slotwise import studies
    from slotwise.studies import on_spark

    rows = kept_rows(directory and directory / f"{name}.journal", master)
    effort = studies.Effort(quick=quick, each=with_progress, rows=rows)
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
    """Paper against ours; of a study without a paper, its first table."""
    from rich.console import Group
    from rich.text import Text

    remarks = [Text(f"\n{remark}") for remark in made.remarks]
    shown = _compared(made) if made.comparisons else _first_table(made)
    return Group(Text(f"{made.title}\n", "bold"), shown, *remarks)


def _compared(made: Study) -> RenderableType:
    from slotwise.report.tables import table
    from slotwise.studies.publish import compared

    rows = table("What", "Paper", "Ours", "<Verdict")
    for what, paper, ours, verdict, _, _ in compared(made):
        rows.add_row(what, paper, ours, verdict)
    return rows


def _first_table(made: Study) -> RenderableType:
    from slotwise.report.pages import shown_rows
    from slotwise.report.tables import table

    first, *others = made.tables[0].columns
    rows = table(f"<{first.capitalize()}", *(f">{_broken(column)}" for column in others))
    for row in shown_rows(made.tables[0]):
        rows.add_row(*row)
    return rows


def _broken(heading: str) -> str:
    """A long heading in lines of at most 12 characters, so that columns stay narrow."""
    from textwrap import wrap

    return "\n".join(wrap(heading, 12))
