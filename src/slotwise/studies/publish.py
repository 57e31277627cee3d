"""A Study as files: JSON, a text with the table "paper | ours", pictures, one page with all of it.

Nothing is computed here and nothing written to disk: `published` gives the files' contents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape

from slotwise import json_data
from slotwise.report import pages
from slotwise.report.charts import picture
from slotwise.report.pages import (
    list_html,
    pictures_html,
    section,
    shown,
    shown_rows,
    table_html,
)
from slotwise.studies.study import Study

COMPARED = ("what", "paper", "ours", "verdict", "source", "why it differs")


def published(study: Study) -> dict[str, bytes]:
    """File name -> content. Needs matplotlib."""
    pictures = {chart.name: picture(chart) for chart in study.charts}
    return {
        f"{study.name}.json": json_text(study).encode(),
        f"{study.name}.md": markdown(study).encode(),
        **{f"{study.name}-{name}.png": image for name, image in pictures.items()},
        f"{study.name}.html": page(study, pictures).encode(),
    }


def json_text(study: Study) -> str:
    """All of it, with the verdicts."""
    document = asdict(study)
    for row, comparison in zip(document["comparisons"], study.comparisons, strict=True):
        row["verdict"] = comparison.verdict
    return json_data.json_text(document)


def compared(study: Study) -> list[tuple[str, ...]]:
    """The rows under COMPARED."""
    return [
        (
            row.paper.what,
            str(row.paper),
            f"{shown(row.ours)} {row.paper.unit}".strip(),
            row.verdict,
            row.paper.source,
            row.why,
        )
        for row in study.comparisons
    ]


def markdown(study: Study) -> str:
    parts = [f"# {study.title}", f"{study.citation}.{_how(study)}"]
    if study.comparisons:
        parts += ["## Paper | ours", _markdown_table(COMPARED, compared(study))]
    for table in study.tables:
        parts += [f"## {table.title}", _markdown_table(table.columns, shown_rows(table))]
    parts += ["## Results", _listed(study.remarks), "## Assumptions", _listed(study.assumptions)]
    return "\n\n".join(parts) + "\n"


def page(study: Study, pictures: dict[str, bytes]) -> str:
    """One HTML file without scripts or outside files; names are escaped."""
    return pages.page(
        study.title,
        f"<p>{escape(study.citation)}.{escape(_how(study))}</p>",
        f"<h2>Paper | ours</h2>{table_html(COMPARED, compared(study))}"
        if study.comparisons
        else "",
        f"<h2>Results</h2>{list_html(study.remarks)}",
        pictures_html((chart.title, pictures[chart.name]) for chart in study.charts),
        *map(section, study.tables),
        f"<h2>Assumptions</h2>{list_html(study.assumptions)}",
    )


def _how(study: Study) -> str:
    how = "Measured on Spark, simulated" if study.on_spark else "Simulated"
    return f" {how} with seed {study.seed}{', the quick version' if study.quick else ''}."


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    return "\n".join([line(columns), line("---" for _ in columns), *map(line, rows)])


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
