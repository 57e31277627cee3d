"""A run under a controller, for the terminal: what it cost, and what each change did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slotwise.adaptation import Step
from slotwise.adaptation_summary import Account, AppliedChange, Summary
from slotwise.model import counted
from slotwise.report.figures import figure, percent
from slotwise.report.tables import table

MOST_CHANGES = 40
"""More rows than this are not listed; `--json` has them all."""
_TOLD = ("applied", "refused", "recommended", "not observed")


def adaptation_report(headline: str, account: Account) -> RenderableType:
    """What is printed at the end of a run: the figures, then a row per change."""
    parts: list[RenderableType] = [Text(headline, "bold"), "", _figures(account.summary)]
    changes = account.changes
    parts += ["", _changes(changes[:MOST_CHANGES])] if changes else []
    if len(changes) > MOST_CHANGES:
        left = counted(len(changes) - MOST_CHANGES, "more change")
        parts.append(Text(f"… and {left}: --json lists them all", "dim"))
    return Group(*parts)


def step_lines(step: Step, before: Step | None) -> list[str]:
    """For people while it runs: what happened, then what was decided, as far as it is new. A
    recommendation that stands, and a silence that lasts, are said once.
    """
    at = clock_text(step.at_s)
    lines = [f"{at} {event}" for event in step.events]
    repeated = before is not None and before.outcome == step.outcome
    standing = step.outcome in ("recommended", "not observed") and repeated
    if step.outcome not in _TOLD or standing:
        return lines
    told = [step.decision.reason] if step.decision else []
    told += [f"({step.note})" if told else step.note] if step.note else []
    if step.change is not None:
        told.append(f"(paused {figure(step.change.pause_s)} s)")
    return [*lines, f"{at} {step.outcome}: {' '.join(told)}"]


def clock_text(seconds: float) -> str:
    """Hours, minutes and seconds since the start.

    >>> clock_text(3725.0)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _figures(summary: Summary) -> Table:
    made = table("<Figure", ">Value", "")
    for name, value, more in _rows(summary):
        made.add_row(Text(name), Text(value), Text(more, "dim"))
    return made


def _rows(summary: Summary) -> Iterator[tuple[str, str, str]]:
    goals = ", ".join(f"{name} {figure(missed_s)} s" for name, missed_s in summary.missed_s.items())
    part = summary.violation_s / summary.seconds if summary.seconds else 0.0
    broken = f"{percent(part)} of {figure(summary.seconds)} s" + (f": {goals}" if goals else "")
    yield "In violation of goals, s", figure(summary.violation_s), broken
    if summary.unobserved_s:
        yield "Without a measurement, s", figure(summary.unobserved_s), ""
    yield "Slot-hours", figure(summary.slot_hours), ""
    yield "Machine-hours", figure(summary.machine_hours), ""
    yield "Cost", figure(summary.cost), ""
    others = {"refused": summary.refused, "only recommended": summary.recommended}
    said = ", ".join(f"{number:,} {name}" for name, number in others.items() if number)
    yield "Changes", f"{summary.changes:,}", said
    yield "Paused for changes, s", figure(summary.pause_s), ""
    yield "Worst p99 of a period, ms", figure(summary.worst_p99_ms), ""
    yield "Longest decision, s", f"{summary.longest_decision_s:.3f}", ""


def _changes(changes: Sequence[AppliedChange]) -> Table:
    made = table("<At", "Change", ">Pause s\nexpected", ">\nwas", ">Gain\nexpected", ">\nwas")
    for change in changes:
        made.add_row(
            clock_text(change.at_s),
            Text.assemble(change.reason, (f"\n{_took(change)}", "dim")),
            figure(change.expected_pause_s),
            figure(change.pause_s),
            *_gain(change),
        )
    return made


def _took(change: AppliedChange) -> str:
    """`in effect after 12.0 s (expected 3.00); 0.20 → 0.30 per hour`."""
    expected, was = figure(change.expected_in_effect_s), figure(change.in_effect_s)
    took = f"in effect after {was} s" + ("" if was == expected else f" (expected {expected})")
    before, after = figure(change.cost_per_hour_before), figure(change.cost_per_hour)
    return took if before == after else f"{took}; {before} → {after} per hour"


def _gain(change: AppliedChange) -> tuple[Text, str]:
    """What the change was made for: the figure's name, before and after, and what was seen."""
    gain = change.gain
    if gain is None:
        return Text("–"), "–"
    expected = f"{figure(gain.before)} → {figure(gain.after)}"
    return Text(f"{gain.figure}\n{expected}"), f"\n{figure(change.seen)}"
