"""A picture of a run over time: its input rate, its latency beside the goal, its slots."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise.model import Observation
from slotwise.report.charts import COLOURS, check_can_draw
from slotwise.report.figures import rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, RED, GREEN = COLOURS[:3]
GREY, PALE = "#666666", "#f3f3f3"
LEAST_MS = 10.0
"""Where the latency axis begins."""
TOUCHING_S = 0.1
"""Windows that are no further apart follow each other."""


@dataclass(frozen=True)
class Span:
    """A part of the run with a name, which stands above it; the name may have several lines."""

    name: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Mark:
    """Something that happened."""

    name: str
    at_s: float


def timeline(
    title: str,
    seen: Sequence[Observation],
    spans: Sequence[Span],
    marks: Sequence[Mark] = (),
    goal_p99_ms: float | None = None,
) -> bytes:
    """A PNG of what was seen in windows of a run, oldest first; each is drawn at its end.

    Latencies are on a logarithmic scale. A window without a latency leaves a gap, and so does time
    that no window covers.
    """
    check_can_draw()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), dpi=150, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(2, 3, 1.2))
    _draw_rates(panels[0], seen)
    _draw_latencies(panels[1], seen, goal_p99_ms)
    _draw_slots(panels[2], seen)
    _draw_spans(panels, spans)
    _draw_marks(panels, marks)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
    begin_s = min(each.start_s or 0.0 for each in seen)
    panels[0].set_xlim(min([begin_s, *(span.from_s for span in spans)]), _time_s(seen[-1]))
    panels[-1].set_xlabel("time, s")
    image = io.BytesIO()
    # No date or version inside: the same run gives the same bytes.
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _time_s(seen: Observation) -> float:
    return seen.end_s or 0.0


def _curve(
    seen: Sequence[Observation], figure: Callable[[Observation], float | None]
) -> tuple[list[float], list[float]]:
    """x and y, with a point that is not drawn wherever time has passed that no window covers."""
    x, y = [], []
    for number, each in enumerate(seen):
        if number > 0 and (each.start_s or 0.0) > _time_s(seen[number - 1]) + TOUCHING_S:
            x.append(_time_s(seen[number - 1]))
            y.append(math.nan)
        value = figure(each)
        x.append(_time_s(each))
        y.append(math.nan if value is None else value)
    return x, y


def _highest(*curves: tuple[list[float], list[float]]) -> float:
    return max((value for _, y in curves for value in y if not math.isnan(value)), default=1.0)


def _draw_rates(axes: Axes, seen: Sequence[Observation]) -> None:
    offered = _curve(seen, lambda each: each.offered_rate)
    finished = _curve(seen, lambda each: each.throughput)
    axes.plot(*offered, color=GREY, linewidth=1.6, linestyle="--", label="offered")
    axes.plot(*finished, color=BLUE, linewidth=1.6, label="finished")
    axes.set_ylabel("tuples/s")
    axes.set_ylim(0, 1.25 * _highest(offered, finished))
    axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=9)


def _draw_latencies(axes: Axes, seen: Sequence[Observation], goal_p99_ms: float | None) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    p99 = _curve(seen, lambda each: each.latency_p99_ms)
    p50 = _curve(seen, lambda each: each.latency_p50_ms)
    axes.set_yscale("log")
    axes.plot(*p99, color=RED, linewidth=1.8, label="p99")
    axes.plot(*p50, color=RED, linewidth=1.2, alpha=0.45, label="p50")
    if goal_p99_ms is not None:
        _draw_goal(axes, p99, goal_p99_ms)
    axes.set_ylim(LEAST_MS, 2 * max(LEAST_MS, _highest(p50, p99), goal_p99_ms or 0.0))
    axes.yaxis.set_major_locator(LogLocator(subs=(1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("latency at sinks, ms")
    axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=9)


def _draw_goal(axes: Axes, p99: tuple[list[float], list[float]], goal_ms: float) -> None:
    x, y = p99
    above = [value if value > goal_ms else math.nan for value in y]
    axes.fill_between(x, above, goal_ms, color=RED, alpha=0.12, linewidth=0)
    axes.axhline(goal_ms, color="black", linewidth=1, linestyle=":")
    axes.annotate(
        f"goal: p99 ≤ {rate(goal_ms)} ms",
        (1, goal_ms),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        ha="right",
        fontsize=9,
    )


def _draw_slots(axes: Axes, seen: Sequence[Observation]) -> None:
    from matplotlib.ticker import MaxNLocator

    times_s, slots = [_time_s(each) for each in seen], [len(each.slots) for each in seen]
    axes.fill_between(times_s, slots, step="post", color=GREEN, alpha=0.25, linewidth=0)
    axes.step(times_s, slots, where="post", color=GREEN, linewidth=1.6)
    axes.set_ylim(0, 1.5 * max(slots))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_ylabel("slots")
    for number, (at_s, count) in enumerate(zip(times_s, slots, strict=True)):
        if number == 0 or count != slots[number - 1]:
            _beside(axes, f"{count:,}", (at_s, count), GREEN)


def _draw_spans(panels: Sequence[Axes], spans: Sequence[Span]) -> None:
    for number, span in enumerate(spans):
        for axes in panels:
            if number % 2 == 0:
                axes.axvspan(span.from_s, span.to_s, color=PALE, linewidth=0, zorder=-10)
        panels[0].annotate(
            span.name,
            ((span.from_s + span.to_s) / 2, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )


def _draw_marks(panels: Sequence[Axes], marks: Sequence[Mark]) -> None:
    """A line through all panels, with its name beside it in the last one."""
    for mark in marks:
        for axes in panels:
            axes.axvline(mark.at_s, color=GREY, linewidth=1, linestyle="-.")
        top = panels[-1].get_ylim()[1]
        _beside(panels[-1], mark.name, (mark.at_s, top), GREY, above=False)


def _beside(
    axes: Axes, text: str, point: tuple[float, float], colour: str, above: bool = True
) -> None:
    """To the right of the point, above or below it."""
    axes.annotate(
        text,
        point,
        xytext=(4, 3 if above else -3),
        textcoords="offset points",
        va="bottom" if above else "top",
        fontsize=9,
        color=colour,
    )
