"""The sentences of look-ahead's decisions."""

from __future__ import annotations

from slotwise.controllers._goals import LATENCIES, NAMES
from slotwise.controllers._measured import loads
from slotwise.controllers._outlook import Outlook
from slotwise.controllers._trial import Trial
from slotwise.model import Gain, Verdict, missed

AS_BUSY = 0.9
"""An operator counts as busy as now while it is at least this part as busy."""


def trouble(look: Outlook, keep: Trial) -> str:
    """What is missed, or will be: `blob was 93% busy for 30 s and p99 210 ms is over 100`."""
    verdicts = missed(look.goals.judge(look.situation.seen))
    if verdicts:
        return f"{busy(look)} and {_over(look, verdicts[0])}"
    return f"{busy(look)} and {expected(look, keep)} would come {forecast(look)}"


def _over(look: Outlook, verdict: Verdict) -> str:
    if verdict.goal in NAMES and verdict.seen is not None and verdict.excess > 0:
        return f"{NAMES[verdict.goal]} {verdict.seen:,.0f} ms is over {verdict.wanted:,.0f}"
    return f"its busiest thread needs {look.situation.seen.busiest or 0:.2f} s per second"


def busy(look: Outlook) -> str:
    """`blob was 93% busy for 30 s`."""
    seen, each = look.situation.seen, loads(look.situation.seen)
    name = seen.bottleneck or max(each, key=lambda operator: each[operator].utilisation)
    part, periods = each[name].utilisation, 0
    for before in reversed(look.situation.observations):
        if loads(before)[name].utilisation < AS_BUSY * part:
            break
        periods += 1
    return f"{name} was {part:.0%} busy for {periods * look.situation.period_s:g} s"


def forecast(look: Outlook) -> str:
    """Which forecast, and how much it says."""
    return f"at up to {look.ahead.high():,.1f}/s ({look.ahead.method})"


def expected(look: Outlook, trial: Trial) -> str:
    """`p99 70 ms`."""
    figure = _figure(look)
    value = trial.figure(figure)
    if figure == "busiest":
        return f"a busiest thread at {value or 0:.0%}"
    return f"{NAMES[figure]} {value:,.0f} ms" if value is not None else f"no {NAMES[figure]}"


def gain(look: Outlook, keep: Trial, trial: Trial) -> Gain:
    figure = _figure(look)
    return Gain(figure, keep.figure(figure), trial.figure(figure))


def _figure(look: Outlook) -> str:
    """The first goal's."""
    given = [name for name in LATENCIES if getattr(look.goals, name) is not None]
    return given[0] if given else "busiest"
