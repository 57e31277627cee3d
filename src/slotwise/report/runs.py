"""Runs that are kept, for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from slotwise.dashboard.document import Document
from slotwise.report.adaptation import clock_text
from slotwise.report.figures import figure
from slotwise.report.tables import table
from slotwise.runs.reading import KeptRun
from slotwise.runs.summary import RunSummary


def runs_report(runs: Sequence[KeptRun]) -> RenderableType:
    """A row per run; why one failed is in its own report."""
    if not runs:
        return Text("no runs are kept")
    made = table(">Run", "<Topology", "<Origin", "<Controller", "<Started", "<State")
    for run in runs:
        made.add_row(
            str(run.id),
            Text(run.topology),
            run.origin,
            Text(run.controller or "–"),
            run.started.replace("T", " ").rstrip("Z"),
            run.state,
        )
    return made


def run_report(document: Document, summary: RunSummary) -> RenderableType:
    """How it was made, its figures, then what was decided and what happened."""
    run = document.run
    made = Text(f"run {run['id']}: {run['topology']}, {run['origin']}, {run['state']}", "bold")
    parts: list[RenderableType] = [made, Text(run["why"], "yellow")] if run["why"] else [made]
    parts += ["", comparison_report([summary])]
    if document.marks:
        happened = table("<At", "<What", "Text")
        for mark in document.marks:
            happened.add_row(clock_text(mark["at_s"]), mark["kind"], Text(mark["text"]))
        parts += ["", happened]
    return Group(*parts)


_FIGURES = (
    ("Seconds", "seconds"),
    ("Offered/s", "offered_rate"),
    ("Throughput/s", "throughput"),
    ("Backlog at the end", "backlog"),
    ("p50 ms", "p50"),
    ("p99 ms", "p99"),
    ("Worst p99 ms", "worst_p99"),
    ("Slots", "slots"),
    ("Cost/h", "cost_per_hour"),
    ("Between nodes/s", "inter_node_traffic"),
)


def comparison_report(found: Sequence[RunSummary]) -> RenderableType:
    """A column per run."""
    made = table("<Figure", *(f">Run {each.id}" for each in found))
    made.add_row("Topology", *(Text(each.topology) for each in found))
    made.add_row("Controller", *(Text(each.controller or "–") for each in found))
    for name, field in _FIGURES:
        made.add_row(name, *(figure(getattr(each, field)) for each in found))
    made.add_row("Changes", *(f"{each.changes:,}" for each in found))
    return made
