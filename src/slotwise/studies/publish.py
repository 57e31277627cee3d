"""A Study as files: JSON, a text with the table "paper | ours", pictures, one page with all of it.

Nothing is computed here and nothing written to disk: `published` gives the files' contents.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

from slotwise import json_data
from slotwise.model import SlotwiseError
from slotwise.studies.study import Cell, Chart, Line, Study, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee")
"""Paul Tol's bright scheme: also distinguishable with colour blindness."""
MARKERS = "osD^vP"
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


def check_can_draw() -> None:
    """Raise, before hours of work, if pictures cannot be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SlotwiseError(
            "pictures need matplotlib: install it with pip install 'slotwise[study]', "
            "or print the figures only, with --json"
        ) from None


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


def shown(value: Cell) -> str:
    """For people: four digits, no exponents.

    >>> [shown(x) for x in (12345.678, 0.012345, 7, None)]
    ['12,346', '0.01235', '7', '–']
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if isinstance(value, str):
        return value
    if value == int(value):
        return f"{int(value):,}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def markdown(study: Study) -> str:
    parts = [f"# {study.title}", f"{study.citation}.{_how(study)}", "## Paper | ours"]
    parts.append(_markdown_table(COMPARED, compared(study)))
    for table in study.tables:
        parts += [f"## {table.title}", _markdown_table(table.columns, _rows(table))]
    parts += ["## Results", _listed(study.remarks), "## Assumptions", _listed(study.assumptions)]
    return "\n\n".join(parts) + "\n"


def page(study: Study, pictures: dict[str, bytes]) -> str:
    """One HTML file without scripts or outside files; names are escaped."""
    figures = "".join(
        f'<figure><img alt="{escape(chart.title)}" '
        f'src="data:image/png;base64,{base64.b64encode(pictures[chart.name]).decode()}"></figure>'
        for chart in study.charts
    )
    tables = "".join(
        f"<h2>{escape(table.title)}</h2>{_html_table(table.columns, _rows(table))}"
        for table in study.tables
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(study.title)}'
        f"</title><style>{_STYLE}</style><h1>{escape(study.title)}</h1>"
        f"<p>{escape(study.citation)}.{escape(_how(study))}</p>"
        f"<h2>Paper | ours</h2>{_html_table(COMPARED, compared(study))}"
        f"<h2>Results</h2>{_html_list(study.remarks)}"
        f'<div class="figures">{figures}</div>{tables}'
        f"<h2>Assumptions</h2>{_html_list(study.assumptions)}</html>\n"
    )


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;"
    "color:#222}table{border-collapse:collapse;margin:.6em 0;font-size:13px;display:block;"
    "overflow-x:auto}th{text-align:left;border-bottom:1px solid #888}"
    "th,td{padding:.2em .8em .2em 0;vertical-align:top}"
    ".figures{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0;flex:1 1 30em}"
    "img{max-width:100%}.agrees{color:#228833}.same{color:#8a6d00}.differs{color:#b3261e}"
)


def picture(chart: Chart) -> bytes:
    """A PNG of about 1,100 × 700 points."""
    check_can_draw()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(chart.title, fontsize=11, loc="left")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    (_draw_bars if chart.kind == "bars" else _draw_lines)(axes, chart)
    _set_scales(axes, chart)
    for name, height in chart.levels:
        axes.axhline(height, color="#999999", linestyle=":", linewidth=1)
        axes.annotate(
            name,
            (0.005, height),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="bottom",
            fontsize=8,
            color="#666666",
        )
    if len(chart.lines) > 1 or chart.diagonal:
        figure.legend(
            *axes.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=min(len(chart.lines) + chart.diagonal, 3),
            frameon=False,
            fontsize=9,
        )
    image = io.BytesIO()
    # No date or version inside: the same study gives the same bytes.
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _draw_lines(axes: Axes, chart: Chart) -> None:
    points = chart.kind == "points"
    for number, line in enumerate(chart.lines):
        crowded = len(line.x) > 40
        axes.plot(
            line.x,
            [math.nan if y is None else y for y in line.y],
            color=COLOURS[number % len(COLOURS)],
            marker="" if crowded else MARKERS[number % len(MARKERS)],
            markersize=6 if points else 4,
            linestyle="" if points else "-",
            linewidth=1.4,
            label=line.name,
        )
    if chart.diagonal:
        most = max(_highest(chart.lines), max(float(x) for line in chart.lines for x in line.x))
        axes.plot([0, most], [0, most], color="#999999", linewidth=1, label="equal")


def _draw_bars(axes: Axes, chart: Chart) -> None:
    width = 0.8 / len(chart.lines)
    names = chart.lines[0].x
    for number, line in enumerate(chart.lines):
        places = [n + (number - (len(chart.lines) - 1) / 2) * width for n in range(len(names))]
        heights = [math.nan if y is None else y for y in line.y]
        axes.bar(places, heights, width, color=COLOURS[number % len(COLOURS)], label=line.name)
    longest = max(len(part) for name in names for part in str(name).split("\n"))
    crowded = len(names) * longest > 85
    axes.set_xticks(
        range(len(names)),
        [str(name) for name in names],
        fontsize=7 if crowded else 9,
        rotation=90 if crowded else 0,
    )


def _set_scales(axes: Axes, chart: Chart) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,g}")
    axes.yaxis.set_major_formatter(plain)
    if chart.kind != "bars":
        axes.xaxis.set_major_formatter(plain)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
        few_decades = _highest(chart.lines) < 300 * _lowest(chart.lines)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few_decades else (1,)))
    elif chart.from_zero:
        axes.set_ylim(bottom=0)
    for axis, is_log in ((axes.xaxis, chart.log_x), (axes.yaxis, chart.log_y)):
        if is_log:
            axis.set_major_formatter(plain)
            axis.set_minor_formatter(NullFormatter())


def _values(lines: Sequence[Line]) -> list[float]:
    return [y for line in lines for y in line.y if y is not None]


def _highest(lines: Sequence[Line]) -> float:
    return max(_values(lines), default=1.0)


def _lowest(lines: Sequence[Line]) -> float:
    return min(_values(lines), default=1.0)


def _how(study: Study) -> str:
    return f" Simulated with seed {study.seed}{', the quick version' if study.quick else ''}."


def _rows(table: Table) -> list[tuple[str, ...]]:
    return [tuple(shown(cell) for cell in row) for row in table.rows]


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    return "\n".join([line(columns), line("---" for _ in columns), *map(line, rows)])


def _html_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _html_cell(text: str) -> str:
    verdict = text if text in ("agrees", "same direction", "differs") else ""
    kind = f' class="{verdict.split()[0]}"' if verdict else ""
    return f"<td{kind}>{escape(text)}</td>"


def _html_list(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
