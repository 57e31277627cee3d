"""A deployment under a controller, for `simulate --controller` and `run --controller`: the same
options, journal, lines while it runs, table and exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from slotwise.cli import DONE, ERROR, GOAL_MISSED
from slotwise.cli.output import console, deliver, note
from slotwise.json_data import json_data, json_text

if TYPE_CHECKING:
    from slotwise.adaptation import Adaptation
    from slotwise.adaptation_following import Following
    from slotwise.adaptation_summary import Account


def adapting(
    controller: str | None,
    apply: Literal["never", "placement", "all"] | None,
    period: float | None,
    decisions: Path | None,
    control: Path | None,
) -> Following | None:
    """None if no option is given; the usual controller if it is not named. Raises SlotwiseError as
    `Following.by`.
    """
    if all(option is None for option in (controller, apply, period, decisions, control)):
        return None
    from slotwise.adaptation import Rules
    from slotwise.adaptation_following import Following

    usual = Rules()
    rules = Rules(period_s=period or usual.period_s, apply=apply or usual.apply)
    return Following.by(controller, rules, decisions, control)


def follow(loop: Adaptation, seconds: float, decisions: Path | None) -> Account:
    """Drive it for so long, and show what is new on stderr, with a bar under the lines. Raises
    SlotwiseError where the journal cannot be written.
    """
    from slotwise.adaptation_following import follow as followed
    from slotwise.report.adaptation import step_lines

    with _progress(seconds) as show:
        return followed(
            loop, seconds, decisions, lambda step, before: show(step_lines(step, before), step.at_s)
        )


@contextmanager
def _progress(seconds: float) -> Iterator[Callable[[Sequence[str], float], None]]:
    """Lines on stderr, with a bar under them if it is a terminal."""
    if not sys.stderr.isatty():

        def show_lines(lines: Sequence[str], at_s: float) -> None:
            for line in lines:
                note(line)

        yield show_lines
        return
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("adapting", total=seconds)

        def show(lines: Sequence[str], at_s: float) -> None:
            for line in lines:
                bar.console.print(line, markup=False)
            bar.update(task, completed=at_s)

        yield show


def report_adaptation(
    loop: Adaptation, account: Account, *, json: bool, output: Path | None = None
) -> int:
    """The table or JSON, a line for what went wrong, and the exit code."""
    from slotwise.report.adaptation import adaptation_report

    deliver(
        lambda: json_text(adaptation_data(loop, account)),
        lambda: adaptation_report(headline(loop, account), account),
        json=json,
        output=output,
    )
    return note_violations(account)


def note_violations(account: Account) -> int:
    """The exit code: 99 if a goal was missed in any period, else 1 if the last one was unstable."""
    from slotwise.report.figures import figure

    for goal, missed_s in account.summary.missed_s.items():
        note(f"goal missed: {goal} in periods of {figure(missed_s)} s altogether")
    if account.summary.missed_s:
        return GOAL_MISSED
    if account.last is not None and account.last.stable is False:
        note(f"slotwise: unstable at the end: {account.last.bottleneck} is the bottleneck")
        return ERROR
    return DONE


def headline(loop: Adaptation, account: Account) -> str:
    from slotwise.report.adaptation import clock_text

    name = loop.deployment.plan.pipeline.topology.name
    return (
        f"{name} under {loop.controller.name} for {clock_text(account.summary.seconds)}, a "
        f"decision every {loop.rules.period_s:g} s"
    )


def adaptation_data(loop: Adaptation, account: Account) -> dict[str, Any]:
    """For JSON."""
    from slotwise import __version__

    plan = loop.deployment.plan
    return {
        "slotwise": __version__,
        "topology": plan.pipeline.topology.name,
        "controller": loop.controller.name,
        "rules": json_data(loop.rules),
        "summary": json_data(account.summary),
        "changes": json_data(account.changes),
        "threads": plan.threads,
        "machines": plan.machines,
        "slots": plan.slots,
        "cost_per_hour": plan.cost_per_hour,
    }
