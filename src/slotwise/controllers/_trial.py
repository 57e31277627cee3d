"""What a plan would do in the next minutes: simulated from the present backlog, pause included.

The simulation begins with the tuples that wait now. To go over to another plan, the one in effect
goes on for as long as a change takes to begin, and all threads stand still for the pause. Windows
are as long as a period and are judged like one. They follow each other in real time until the goals
are kept (again). From the rest of the time WINDOWS of them are taken.

The work is bounded by MOST_VISITS, whatever the rate. Where the rest of the time has more, the
forecast is played faster: what a queue forgets takes it a number of tuples, not of seconds, and at
such rates it has forgotten before the forecast has changed much. Where even the pause, or what
waits, has too many tuples, the backlog is taken for a fluid, which at such rates it is.

All plans see the same arrivals and the same service times (one seed).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slotwise.controllers._forecast import Forecast
from slotwise.controllers._goals import LATENCIES
from slotwise.controllers._measured import visits
from slotwise.controllers._present import Present, waiting
from slotwise.model import Goals, Observation, Plan, Schedule, missed
from slotwise.prediction import predict
from slotwise.simulation import Arrivals, Options, SimulatedDeployment

SEED = 1
WINDOWS = 10
RECOVERY = 6
"""Windows that follow each other from now on, at most."""
MOST_VISITS = 400_000
"""By the tuples that come until the plan has recovered, by those that waited, and by those that
come after that: three times as many together at most, usually a tenth of a second."""
DEVIATIONS = 2.0
"""Of a latency between windows, for which there must be room up to its goal."""


@dataclass(frozen=True)
class Trial:
    """A plan over the time that was looked ahead."""

    plan: Plan
    recovery_s: float
    """Seconds in which a goal was missed until all were kept for the first time."""
    lasting_s: float
    """Seconds in which a goal was missed after that, or all if they never were."""
    windows: tuple[Observation, ...]
    """From then on, in order of time; at least one."""

    @property
    def violation_s(self) -> float:
        return self.recovery_s + self.lasting_s

    @property
    def is_overloaded(self) -> bool:
        """Some thread gets more than it can handle, for good."""
        busiest = self.figure("busiest")
        return busiest is not None and busiest > 1

    def figure(self, name: str) -> float | None:
        """The mean over the windows of a figure that all of them have."""
        found = [getattr(seen, name) for seen in self.windows]
        return None if None in found else math.fsum(found) / len(found)

    def is_sure(self, goals: Goals) -> bool:
        """No window misses a goal, and by their spread hardly any other one would."""
        if self.lasting_s > 0:
            return False
        for name in LATENCIES:
            wanted = getattr(goals, name)
            found = [value for seen in self.windows if (value := getattr(seen, name)) is not None]
            if wanted is None or len(found) < 2:
                continue
            if statistics.fmean(found) + DEVIATIONS * statistics.stdev(found) > wanted:
                return False
        return True


def tried(
    now: Present,
    plan: Plan,
    ahead: Forecast,
    seconds: float,
    goals: Goals,
    pause_s: float = 0.0,
    wait_s: float = 0.0,
) -> Trial:
    """`plan` for so many seconds from now, in effect after `wait_s` and a pause; a `pause_s` of 0:
    it is in effect already.
    """
    believed = now.believed(plan)
    per_input = visits(believed)
    each = sum(per_input.values())
    per_second = ahead.high(seconds) * each
    periods = int(MOST_VISITS / (per_second * ahead.period_s))
    soon = per_second * (wait_s + pause_s + ahead.period_s)
    if max(soon, _inputs(now.waiting, per_input) * each) <= MOST_VISITS:
        begun = _recovered(now, believed, ahead, goals, pause_s, wait_s, min(RECOVERY, periods))
    else:
        begun = _drained(now, believed, ahead.high(), pause_s, wait_s)
    left_s = max(seconds - begun.after_s, ahead.period_s)
    played_s = min(left_s, MOST_VISITS / per_second)
    windows = _windows(believed, ahead, begun, left_s, played_s)
    misses = [bool(missed(goals.judge(seen))) for seen in windows]
    each_s = left_s / len(windows)
    first = misses.index(False) if begun.missed_s > 0 and False in misses else 0
    return Trial(
        plan,
        begun.missed_s + first * each_s,
        sum(misses[first:]) * each_s,
        tuple(windows[first:]),
    )


@dataclass(frozen=True)
class _Begun:
    """What waits when the plan has recovered, after how long, and how long goals were missed."""

    waiting: Mapping[str, float]
    after_s: float
    missed_s: float


def _recovered(
    now: Present,
    believed: Plan,
    ahead: Forecast,
    goals: Goals,
    pause_s: float,
    wait_s: float,
    periods: int,
) -> _Begun:
    """In real time, from the plan in effect on, for some periods at most."""
    period_s, missed_s, since_s = ahead.period_s, 0.0, 0.0
    change_s = wait_s + pause_s
    points = ahead.points(periods * period_s + change_s)
    running = _deployed(now.plan, points, now.waiting, period_s + change_s, pause_s)
    if wait_s > 0:
        running.advance(wait_s)
    if pause_s > 0:
        running.apply(believed)
    for _ in range(periods):
        running.advance(period_s)
        seen = running.observe(running.now_s() - since_s, places=False)
        if not missed(goals.judge(seen)):
            break
        missed_s, since_s = running.now_s(), running.now_s()
    return _Begun(waiting(believed, [seen]), running.now_s(), missed_s)


def _drained(now: Present, believed: Plan, rate: float, pause_s: float, wait_s: float) -> _Begun:
    """What waits, and what comes in the pause and more than the plan in effect handles before it,
    as a fluid; less than a second of it is none.
    """
    waits = now.waiting
    left = max(0.0, rate - predict(now.plan, rate).capacity) * wait_s if wait_s > 0 else 0.0
    inputs = _inputs(waits, visits(believed)) + left + rate * pause_s
    if inputs < rate:
        return _Begun(waits, 0.0, 0.0)
    spare = max(predict(believed, rate).capacity - rate, 1e-3 * rate)
    drained_s = wait_s + pause_s + inputs / spare
    return _Begun({}, drained_s, drained_s)


def _inputs(waits: Mapping[str, float], per_input: Mapping[str, float]) -> float:
    """How many inputs the waiting tuples stand for, at the operator where that is most."""
    counts = (count / per_input[name] for name, count in waits.items() if per_input[name] > 0)
    return max(counts, default=0.0)


def _windows(
    believed: Plan, ahead: Forecast, begun: _Begun, left_s: float, played_s: float
) -> list[Observation]:
    """At even distances over the time that is left, which is played in `played_s` seconds."""
    points = ahead.points(begun.after_s + left_s)
    later = [point for point in points if point[0] >= begun.after_s] or points[-1:]
    faster = [(at_s * played_s / left_s, rate) for at_s, rate in later]
    each_s = played_s / WINDOWS
    window_s = min(ahead.period_s, each_s)
    running = _deployed(believed, faster, begun.waiting, window_s)
    windows = []
    for _ in range(WINDOWS):
        if each_s > window_s:
            running.advance(each_s - window_s)
        running.advance(window_s)
        windows.append(running.observe(window_s, places=False))
    return windows


def _deployed(
    plan: Plan,
    points: Sequence[tuple[float, float]],
    waits: Mapping[str, float],
    kept_s: float,
    pause_s: float = 0.0,
) -> SimulatedDeployment:
    """At the rates of (second, rate), from the first one on, and with so many tuples waiting."""
    highest, first_s = max(rate for _, rate in points), points[0][0]
    schedule = Schedule(tuple((at_s - first_s, rate / highest) for at_s, rate in points))
    return SimulatedDeployment(
        plan,
        highest,
        Options(arrivals=Arrivals(schedule=schedule), seed=SEED),
        move_pause_s=pause_s or 1.0,
        restart_pause_s=pause_s or 1.0,
        resolution_s=kept_s,
        kept_s=kept_s,
        waiting=waits,
    )
