"""Tables and charts as values, and charts as pictures; studies and profiles share them."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from slotwise.model import SlotwiseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cell = float | int | str | None
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee")
"""Paul Tol's bright scheme: also distinguishable with colour blindness."""
MARKERS = "osD^vP"


@dataclass(frozen=True)
class Table:
    """Rows of figures under a title; every column names its unit."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def column(self, name: str) -> list[Cell]:
        position = self.columns.index(name)
        return [row[position] for row in self.rows]


@dataclass(frozen=True)
class Line:
    """One curve, cloud of points or group of bars; None leaves a gap."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class Chart:
    """What a picture shows, and not how it is drawn. `name` becomes part of the file's name."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    kind: Literal["lines", "points", "bars"] = "lines"
    log_x: bool = False
    log_y: bool = False
    diagonal: bool = False
    """Draw y = x, where the two axes are the same quantity."""
    whole_x: bool = False
    """x counts things: no fractions on its axis."""
    from_zero: bool = True
    levels: tuple[tuple[str, float], ...] = ()
    """Horizontal lines: (name, height)."""


def check_can_draw() -> None:
    """Raise, before hours of work, if pictures cannot be made."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SlotwiseError(
            "pictures need matplotlib: install it with pip install 'slotwise[study]', "
            "or print the figures only, with --json"
        ) from None


def picture(*panels: Chart) -> bytes:
    """A PNG, about 1,100 × 700 points for each chart, side by side."""
    check_can_draw()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5 * len(panels), 4.6), dpi=150, layout="constrained")
    for part, chart in zip(
        figure.subfigures(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        axes = part.add_subplot()
        _draw(axes, chart)
        if len(chart.lines) > 1 or chart.diagonal:
            part.legend(
                *axes.get_legend_handles_labels(),
                loc="outside lower center",
                ncols=min(len(chart.lines) + chart.diagonal, 3),
                frameon=False,
                fontsize=9,
            )
    image = io.BytesIO()
    # No date or version inside: the same charts give the same bytes.
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _draw(axes: Axes, chart: Chart) -> None:
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


def _draw_lines(axes: Axes, chart: Chart) -> None:
    points = chart.kind == "points"
    for number, line in enumerate(chart.lines):
        crowded = len(line.x) > 40
        axes.plot(
            line.x,
            [math.nan if y is None else y for y in line.y],
            color=COLOURS[number % len(COLOURS)],
            marker="" if crowded else _marker(number),
            markersize=6 if points else 4,
            linestyle="" if points else "-",
            linewidth=1.4,
            label=line.name,
        )
    if chart.diagonal:
        most = max(_highest(chart.lines), max(float(x) for line in chart.lines for x in line.x))
        axes.plot([0, most], [0, most], color="#999999", linewidth=1, label="equal")


def _marker(number: int) -> str:
    """Another one when colours come again: 36 lines can be told apart."""
    return MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]


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
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,g}")
    axes.yaxis.set_major_formatter(plain)
    if chart.kind != "bars":
        axes.xaxis.set_major_formatter(plain)
    if chart.log_x:
        axes.set_xscale("log")
    elif chart.whole_x:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
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
