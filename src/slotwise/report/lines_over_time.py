"""Lines over a run's time for notebooks, as SVG without scripts: rates, and p99 with its goal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from slotwise.model import Goals, Observation
from slotwise.report.figures import figure

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 120, 52, 20, 16
FIRST, SECOND, GOAL = "#2d8fce", "#cf6a33", "#1f9a70"
"""Colours that are seen on a light and on a dark ground."""

Points = Sequence[tuple[float, float | None]]
"""(second of the run, value)."""
Line = tuple[str, str, str, Points]
"""Name, colour, dashes and points."""


def over_time_html(seen: Sequence[Observation], goals: Goals) -> str:
    """Two small charts, of what was offered and finished, and of p99; nothing with one point."""
    timed = [(each.end_s, each) for each in seen if each.end_s is not None]
    if len(timed) < 2:
        return ""
    rates: list[Line] = [
        ("offered", FIRST, "", [(at, each.offered_rate) for at, each in timed]),
        ("finished", SECOND, "6 3", [(at, each.throughput) for at, each in timed]),
    ]
    latencies: list[Line] = [
        ("p99", FIRST, "", [(at, each.latency_p99_ms) for at, each in timed]),
    ]
    if goals.latency_p99_ms is not None:
        ends = [(at, goals.latency_p99_ms) for at in (timed[0][0], timed[-1][0])]
        latencies.append(("p99 goal", GOAL, "10 4", ends))
    charts = _chart("Input tuples/s", rates) + _chart("Latency, ms", latencies)
    return f'<div style="display:flex;flex-wrap:wrap;gap:1em;margin:.4em 0">{charts}</div>'


def _chart(title: str, lines: Sequence[Line]) -> str:
    """All lines on one scale from 0 on, with their names and the last values above."""
    points = [(x, y) for *_, found in lines for x, y in _known(found)]
    if not points:
        return ""
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    highest = max(y for _, y in points) or 1.0
    names = "".join(
        f'<tspan dx="8" fill="{colour}">{escape(name)}</tspan>' for name, colour, *_ in lines
    )
    drawn = "".join(_path(line, first, last - first or 1.0, highest) for line in lines)
    base = HEIGHT - BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(title)} over time" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" style="max-width:100%" '
        f'font-family="system-ui,sans-serif" font-size="11" fill="currentColor">'
        f'<text x="0" y="11"><tspan font-weight="600">{escape(title)}</tspan>{names}</text>'
        f'<text x="{LEFT - 6}" y="{TOP + 8}" text-anchor="end">{figure(highest)}</text>'
        f'<text x="{LEFT - 6}" y="{base}" text-anchor="end">0</text>'
        f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH}" y2="{base}" stroke="currentColor" '
        f'stroke-opacity=".4"/><text x="{LEFT}" y="{HEIGHT - 3}">{first:,.0f} s</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 3}" text-anchor="end">{last:,.0f} s</text>{drawn}</svg>'
    )


def _known(points: Points) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if y is not None and math.isfinite(y)]


def _path(line: Line, first: float, seconds: float, highest: float) -> str:
    _, colour, dashes, points = line
    wide, high = WIDTH - LEFT, HEIGHT - TOP - BOTTOM
    at = " ".join(
        f"{LEFT + wide * (x - first) / seconds:.1f},{TOP + high * (1 - y / highest):.1f}"
        for x, y in _known(points)
    )
    return (
        f'<polyline points="{at}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dashes or "none"}"/>'
    )
