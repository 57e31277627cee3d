"""A run that is kept, and perhaps shown on a page: what `run` and `simulate --controller` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from slotwise.cli.output import note, write_file
from slotwise.cli.parameters import integer_from

if TYPE_CHECKING:
    from slotwise.comparison import Candidate
    from slotwise.dashboard.serving import Page as PageServer
    from slotwise.model import Observation, Pipeline, Plan
    from slotwise.runs import Head, Recorder

PAGE = Group("Page", sort_key=4)
NOT_KEPT = "none"
HOST, PORT = "127.0.0.1", 8642
CONTROL = "control.json"
"""The control file of a simulation where none is named: in a folder of its own."""

Page = Annotated[
    bool,
    Parameter(
        name="--page",
        negative=(),
        group=PAGE,
        show_default=False,
        help="Serve a page that shows the run while it goes on.",
    ),
]
Host = Annotated[
    str,
    Parameter(
        group=PAGE,
        help="The address that the page is served at. Others than this machine's own need the "
        "environment variable SLOTWISE_TOKEN.",
    ),
]
Port = Annotated[
    int,
    Parameter(
        converter=integer_from(0), group=PAGE, help="The port of the page. 0: one that is free."
    ),
]
Report = Annotated[
    Path | None,
    Parameter(group=PAGE, help="Write the page to this HTML file, which needs no server."),
]
RunsFile = Annotated[
    Path | None,
    Parameter(
        name="--runs",
        group=PAGE,
        help="The file that keeps runs, or 'none'. Default: SLOTWISE_RUNS, or runs.db in the "
        "user's data folder.",
    ),
]


@dataclass(frozen=True)
class Showing:
    """How a run is shown beside its output."""

    page: bool = False
    host: str = HOST
    port: int = PORT
    report: Path | None = None
    runs: Path | None = None

    def check(self) -> None:
        """Before anything starts. Raises SlotwiseError for what could not be shown."""
        from slotwise.model import SlotwiseError

        if self.runs == Path(NOT_KEPT) and (self.page or self.report):
            wanted = "--page" if self.page else "--report"
            raise SlotwiseError(f"{wanted} shows what is kept of the run: remove --runs none")
        check_report(self.report)
        if self.page:
            from slotwise.dashboard.access import Access
            from slotwise.dashboard.serving import Address, bound, check_can_serve

            check_can_serve()
            Access.to(self.host)
            bound(Address(self.host, self.port)).close()

    @contextmanager
    def recording(self, head: Head) -> Iterator[Recorder | None]:
        """Keep the run, and show it until the end of the block. None: it is not kept."""
        if self.runs == Path(NOT_KEPT):
            yield None
            return
        from slotwise.model import SlotwiseError
        from slotwise.runs import Recorder, usual_file

        path = self.runs or usual_file()
        try:
            recorder = Recorder.started(path, head, note)
        except SlotwiseError as error:
            if self.page or self.report or self.runs:
                raise
            note(f"the run is not kept: {error}")
            yield None
            return
        # The page ends after the run has, so that it shows the end.
        with ExitStack() as pages:
            with recorder:
                if self.page:
                    pages.enter_context(served(path, self.host, self.port, (recorder.id,)))
                yield recorder
            if self.page or head.origin == "measured":
                note(f"kept as run {recorder.id}: slotwise ui {recorder.id}")
        if self.report is not None:
            write_report(path, str(recorder.id), self.report)


@contextmanager
def served(path: Path, host: str, port: int, only: Sequence[int] | None) -> Iterator[PageServer]:
    """The page, whose address is shown on stderr. Raises SlotwiseError."""
    from slotwise.dashboard.access import Access
    from slotwise.dashboard.serving import Address, serving

    with serving(path, Address(host, port), Access.to(host), only) as page:
        note(f"page: {page.url}")
        yield page


def check_report(report: Path | None) -> None:
    """Before the work. Raises SlotwiseError where a report could not be written."""
    from slotwise.dashboard.one_file import check_vendor
    from slotwise.model import SlotwiseError

    if report is None:
        return
    if not report.resolve().parent.is_dir():
        raise SlotwiseError(f"{report}: no such directory: use another --report")
    check_vendor()


def write_report(path: Path, run: str, report: Path) -> None:
    """The page of a run that is kept. Raises SlotwiseError."""
    from slotwise.dashboard.document import history_data, run_document
    from slotwise.dashboard.one_file import one_file
    from slotwise.json_data import json_data
    from slotwise.runs import Runs

    with Runs.opened(path) as runs:
        document, history = run_document(runs, run), history_data(runs, run)
    title = f"{document.run['topology']}, run {document.run['id']}"
    write_file(report, one_file(json_data(document), history, title))
    note(f"wrote {report}")


def write_plan_report(plan: Plan, seen: Observation | None, report: Path) -> None:
    """The page of a plan that does not run, perhaps with what a simulation has shown."""
    from slotwise.dashboard.document import plan_document
    from slotwise.dashboard.one_file import one_file
    from slotwise.json_data import json_data

    title = plan.pipeline.topology.name
    write_file(report, one_file(json_data(plan_document(plan, seen)), title=title))
    note(f"wrote {report}")


def write_comparison_report(
    pipeline: Pipeline, candidates: Sequence[Candidate], report: Path
) -> None:
    """The page of a comparison."""
    from slotwise.dashboard.comparison import comparison_document
    from slotwise.dashboard.one_file import one_file

    document = comparison_document(pipeline, candidates)
    write_file(report, one_file(document, title=pipeline.topology.name))
    note(f"wrote {report}")
