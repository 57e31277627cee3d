"""What is shown of a run on Spark while it goes on, and how Ctrl-C ends it in order."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slotwise.cli.output import console, note

if TYPE_CHECKING:
    from slotwise.runs import Recorder
    from slotwise.spark.run import Run

LINE_SECONDS = 10.0
WINDOW_S = 5.0
"""What is shown and kept each second is of so many seconds."""

Tell = Callable[[str], None]
"""Shows a line, above the table if there is one."""


@contextmanager
def watched(running: Run) -> Iterator[Tell]:
    """Show what the run measures, and end it when Ctrl-C is pressed.

    On a terminal a table changes each second; elsewhere there is a line now and then.
    """
    with _live(running) as tell, _ended_by_ctrl_c() as is_over:
        running.is_over = is_over
        yield tell


def recorded(running: Run, recorder: Recorder) -> None:
    """Hand on what is seen each second, beside showing it."""
    shown = running.each_report

    def each(running: Run) -> None:
        shown(running)
        recorder.happened(running)
        if seen := running.observation(last_s=WINDOW_S):
            at_s = running.now_s() if seen.end_s is None else seen.end_s
            recorder.saw(at_s, running.plan, seen)

    running.each_report = each


@contextmanager
def _ended_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: the run ends in order, and its summary is shown."""
    pressed = False

    def note_it(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        note("stopping the run; press Ctrl-C again to exit immediately")

    before = signal.signal(signal.SIGINT, note_it)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _live(running: Run) -> Iterator[Tell]:
    if not sys.stderr.isatty():
        running.each_report = _lines()
        yield note
        return
    from rich.live import Live

    from slotwise.report.observation import observation_report

    with Live(console=console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(running: Run) -> None:
            seen, predicted = running.observation(last_s=WINDOW_S), running.plan.predicted
            if seen is not None and predicted is not None:
                live.update(observation_report(running.plan, predicted, seen), refresh=True)

        running.each_report = show
        yield live.console.print


def _lines() -> Callable[[Run], None]:
    """One line each ten seconds."""
    from slotwise.report.figures import figure

    printed_s: float | None = None

    def show(running: Run) -> None:
        nonlocal printed_s
        if printed_s is None:
            printed_s = running.now_s()
        if running.now_s() < printed_s + LINE_SECONDS:
            return
        if seen := running.observation(last_s=LINE_SECONDS):
            printed_s = running.now_s()
            latencies = ", ".join(
                f"{name} {figure(getattr(seen, f'latency_{name}_ms'))}"
                for name in ("p50", "p95", "p99")
            )
            note(
                f"{figure(seen.throughput)} tuples/s, latency ms: {latencies}, "
                f"busiest operator: {seen.bottleneck}"
            )

    return show
