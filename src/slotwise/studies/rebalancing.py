"""DRS in mid-run: sojourn times by the minute while its controller moves, adds and removes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from slotwise.adaptation import Rules
from slotwise.controllers.drs import Drs
from slotwise.model import Goals
from slotwise.simulation import Options, SimulatedDeployment
from slotwise.studies.controlled import Watched, applied, controlled
from slotwise.studies.divisions import ONE_QUEUE, PROCESSORS, Application, Division, division_name
from slotwise.studies.study import Chart, Effort, Line
from slotwise.workloads.drs import RESERVED, slots_per_machine

MINUTES, CHANGE_MINUTE = 27, 13
MOVE_PAUSE_S, NEW_MACHINE_PAUSE_S, STORM_PAUSE_S = 3.0, 20.0, 90.0
RULES = Rules(period_s=20.0)
CONTROLLER = Drs(reserved=RESERVED, horizon_s=24 * 3600.0)
"""The paper does not weigh the pause against the gain: here a day pays for it."""


@dataclass(frozen=True)
class Negotiated:
    """What DRS made of a bound on the sojourn time."""

    bound_ms: float
    before: Division
    after: Division
    before_ms: float | None
    """As it estimated when it changed the division; None: it did not."""
    after_ms: float | None
    line: Line

    @property
    def started(self) -> int:
        """Processors at the beginning."""
        return sum(self.before)

    @property
    def processors(self) -> int:
        return sum(self.after)


def rebalance_chart(app: Application, effort: Effort) -> Chart:
    """Figure 9: from three divisions to the recommended one after 13 minutes."""
    best = app.recommended(PROCESSORS)
    divisions = list(dict.fromkeys((best, *app.named)))
    runs = [(division, MOVE_PAUSE_S) for division in divisions]
    if effort.quick:
        runs = runs[:2]
    runs.append((app.named[1], STORM_PAUSE_S))
    lines = [_run(app, division, pause_s, effort).line for division, pause_s in runs]
    lines[-1] = replace(lines[-1], name=f"{lines[-1].name}, pause of {STORM_PAUSE_S:g} s")
    return _over_minutes(f"rebalance-{app.name.lower()}", f"{app.name}: re-balancing", lines)


def recovery(chart: Chart) -> str:
    """How many minutes after the change each line is back at the recommended division's level,
    to stay there.
    """
    best = chart.lines[0]
    minutes = []
    for line in chart.lines[1:]:
        pairs = list(zip(line.y, best.y, strict=True))[CHANGE_MINUTE:]
        away = [n for n, (y, level) in enumerate(pairs, 1) if not (y and level and y < 1.2 * level)]
        back = away[-1] + 1 if away else 1
        minutes.append(
            f"{line.name} in {back}" if back <= len(pairs) else f"{line.name} not at all"
        )
    return (
        f"{chart.title}: minutes until the mean sojourn time is within 20 % of what "
        f"{best.name} has: {'; '.join(minutes)}."
    )


def negotiated(app: Application, bound_ms: float, started: int, effort: Effort) -> Negotiated:
    """Figure 10: machines are added or removed for the bound."""
    machines = (started + RESERVED) // slots_per_machine()
    # A machine that is added takes time to come up.
    pause_s = NEW_MACHINE_PAUSE_S if started < PROCESSORS else MOVE_PAUSE_S
    goals = replace(app.pipeline.goals, sojourn_ms=bound_ms)
    found = _run(app, app.recommended(started), pause_s, effort, goals, machines)
    name = f"{found.started} → {found.processors} processors, at most {bound_ms:g} ms"
    return replace(found, bound_ms=bound_ms, line=replace(found.line, name=name))


def machines_chart(app: Application, found: Sequence[Negotiated]) -> Chart:
    levels = tuple((f"{each.bound_ms:g} ms", each.bound_ms) for each in found)
    lines = [each.line for each in found]
    return _over_minutes("machines", f"{app.name}: machines added and removed", lines, levels)


def _run(
    app: Application,
    division: Division,
    pause_s: float,
    effort: Effort,
    goals: Goals | None = None,
    machines: int | None = None,
) -> Negotiated:
    """27 minutes from this division; from minute 13 on DRS may change it."""
    options = Options(routing=ONE_QUEUE, seed=effort.seed)
    deployment = SimulatedDeployment(
        app.plan(division, machines),
        app.rate,
        options,
        move_pause_s=pause_s,
        restart_pause_s=pause_s,
    )
    watched = Watched(deployment, every_s=60.0)
    wanted = app.pipeline.goals if goals is None else goals
    steps = controlled(
        watched, CONTROLLER, wanted, 60.0 * MINUTES, RULES, from_s=60.0 * CHANGE_MINUTE
    )
    minutes = tuple(float(minute + 1) for minute in range(MINUTES))
    # A pause may be longer than a minute: then the minute in which it began has all of it.
    by_minute = {
        math.floor((seen.end_s or 0) / 60 + 1e-6): seen.sojourn_ms for seen in watched.seen
    }
    sojourns_ms = tuple(by_minute.get(minute + 1) for minute in range(MINUTES))
    changes = [step.decision.gain for step in applied(steps) if step.decision is not None]
    gain = changes[-1] if changes else None
    return Negotiated(
        bound_ms=0.0,
        before=division,
        after=app.division_of(watched.plan),
        before_ms=None if gain is None else gain.before,
        after_ms=None if gain is None else gain.after,
        line=Line(division_name(division), minutes, sojourns_ms),
    )


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
