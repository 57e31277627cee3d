"""DRS in mid-run: sojourn times by the minute while processors are moved, added or removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slotwise.model import Plan
from slotwise.simulation import PlanChange, simulate
from slotwise.studies.divisions import (
    ONE_QUEUE,
    PROCESSORS,
    Application,
    Division,
    Fitted,
    division_name,
)
from slotwise.studies.study import Chart, Effort, Line

MINUTES, CHANGE_MINUTE = 27, 13
MOVE_PAUSE_S, NEW_MACHINE_PAUSE_S, STORM_PAUSE_S = 3.0, 20.0, 90.0


def rebalance_chart(app: Application, effort: Effort) -> Chart:
    """Figure 9: from three divisions to the recommended one after 13 minutes."""
    best = app.recommended(PROCESSORS)
    lines = [
        _minutes(app, division, best, MOVE_PAUSE_S, effort)
        for division in dict.fromkeys((best, *app.named))
    ]
    storm = _minutes(app, app.named[1], best, STORM_PAUSE_S, effort)
    lines.append(replace(storm, name=f"{storm.name}, pause of {STORM_PAUSE_S:g} s"))
    return _over_minutes(f"rebalance-{app.name.lower()}", f"{app.name}: re-balancing", lines)


def recovery(chart: Chart) -> str:
    """How many minutes after the change each line is back at the recommended division's level."""
    best = chart.lines[0]
    minutes = []
    for line in chart.lines[1:]:
        pairs = list(zip(line.y, best.y, strict=True))[CHANGE_MINUTE:]
        back = [n for n, (y, level) in enumerate(pairs, 1) if y and level and y < 1.2 * level]
        minutes.append(f"{line.name} in {back[0]}" if back else f"{line.name} not at all")
    return (
        f"{chart.title}: minutes until the mean sojourn time is within 20 % of what "
        f"{best.name} has: {'; '.join(minutes)}."
    )


def machines_line(app: Application, fitted: Fitted, effort: Effort) -> Line:
    """Figure 10: the sojourn time while machines are added or removed."""
    pause_s = NEW_MACHINE_PAUSE_S if fitted.processors > fitted.started else MOVE_PAUSE_S
    before, after = app.plan(fitted.before), app.plan(fitted.after)
    name = f"{fitted.started} → {fitted.processors} processors, at most {fitted.bound_ms:g} ms"
    return Line(name, *_series(before, after, app.rate, pause_s, effort))


def machines_chart(app: Application, found: Sequence[Fitted], lines: Sequence[Line]) -> Chart:
    levels = tuple((f"{each.bound_ms:g} ms", each.bound_ms) for each in found)
    return _over_minutes("machines", f"{app.name}: machines added and removed", lines, levels)


def _minutes(
    app: Application, first: Division, then: Division, pause_s: float, effort: Effort
) -> Line:
    before, after = app.plan(first), app.plan(then)
    return Line(division_name(first), *_series(before, after, app.rate, pause_s, effort))


def _series(
    before: Plan, after: Plan, rate: float, pause_s: float, effort: Effort
) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """(minute, mean sojourn time of the inputs of that minute)."""
    same = before.placement == after.placement
    changes = () if same else (PlanChange(60.0 * CHANGE_MINUTE, after, pause_s),)
    seen = simulate(
        before,
        rate,
        routing=ONE_QUEUE,
        duration_s=60.0 * MINUTES,
        warm_up=0.0,
        seed=effort.seed,
        changes=changes,
        windows=MINUTES,
    )
    assert seen.series is not None
    minutes = tuple(float(minute + 1) for minute in range(MINUTES))
    return minutes, seen.series.sojourn_ms[:MINUTES]


def _over_minutes(
    name: str, title: str, lines: Sequence[Line], levels: tuple[tuple[str, float], ...] = ()
) -> Chart:
    return Chart(
        name,
        f"{title} after minute {CHANGE_MINUTE}",
        "minute",
        "mean sojourn time, ms",
        tuple(lines),
        log_y=True,
        from_zero=False,
        levels=levels,
    )
