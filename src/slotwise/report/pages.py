"""One HTML file with tables and pictures, without scripts or outside files; names are escaped."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape

from slotwise.report.charts import Cell, Table

_HEAD = (
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
)
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;"
    "background:light-dark(#fff,#11161c);color:light-dark(#222,#e6ebf0)}"
    "h1,h2{line-height:1.3}table{border-collapse:collapse;margin:.6em 0;font-size:13px;"
    "font-variant-numeric:tabular-nums}"
    ".scroller{overflow-x:auto}th{text-align:left;border-bottom:1px solid #888}"
    "th,td{padding:.2em .8em .2em 0;vertical-align:top}"
    "tbody tr:nth-child(even){background:light-dark(#f4f6f8,#1a2129)}"
    ".figures{display:flex;flex-wrap:wrap;gap:1em}figure{margin:0;flex:1 1 min(30em,100%)}"
    "img{max-width:100%;border-radius:6px}.agrees{color:light-dark(#1a7a2e,#5cc878)}"
    ".same{color:light-dark(#7a6000,#d9b23c)}.differs{color:light-dark(#b3261e,#f79066)}"
)


def page(title: str, *parts: str) -> str:
    """A whole file, light or dark as the reader's system is; `parts` are HTML."""
    return (
        f'<!doctype html><html lang="en"><head>{_HEAD}<title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{''.join(parts)}"
        "</main></body></html>\n"
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
    return (
        f'<div class="scroller" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _html_cell(text: str) -> str:
    verdict = text if text in ("agrees", "same direction", "differs") else ""
    kind = f' class="{verdict.split()[0]}"' if verdict else ""
    return f"<td{kind}>{escape(text)}</td>"


def list_html(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"
