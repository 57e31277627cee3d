"""One HTML file with tables and pictures, without scripts or outside files; names are escaped."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape

from slotwise.report.charts import Cell, Table

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;"
    "color:#222}table{border-collapse:collapse;margin:.6em 0;font-size:13px;display:block;"
    "overflow-x:auto}th{text-align:left;border-bottom:1px solid #888}"
    "th,td{padding:.2em .8em .2em 0;vertical-align:top}"
    ".figures{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0;flex:1 1 30em}"
    "img{max-width:100%}.agrees{color:#228833}.same{color:#8a6d00}.differs{color:#b3261e}"
)


def page(title: str, *parts: str) -> str:
    """A whole file; `parts` are HTML."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}'
        f"</title><style>{_STYLE}</style><h1>{escape(title)}</h1>{''.join(parts)}</html>\n"
    )


def pictures_html(pictures: Iterable[tuple[str, bytes]]) -> str:
    """(title, PNG) each, inside the page."""
    figures = "".join(
        f'<figure><img alt="{escape(title)}" '
        f'src="data:image/png;base64,{base64.b64encode(image).decode()}"></figure>'
        for title, image in pictures
    )
    return f'<div class="figures">{figures}</div>'


def section(table: Table) -> str:
    """A table under its title."""
    return f"<h2>{escape(table.title)}</h2>{table_html(table.columns, shown_rows(table))}"


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


def shown_rows(table: Table) -> list[tuple[str, ...]]:
    return [tuple(shown(cell) for cell in row) for row in table.rows]


def table_html(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _html_cell(text: str) -> str:
    verdict = text if text in ("agrees", "same direction", "differs") else ""
    kind = f' class="{verdict.split()[0]}"' if verdict else ""
    return f"<td{kind}>{escape(text)}</td>"


def list_html(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"
