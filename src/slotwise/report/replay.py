"""A recorded run decided again, for the terminal: where another controller decides otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from slotwise.model import counted
from slotwise.replay import Difference
from slotwise.report.adaptation import clock_text
from slotwise.report.tables import table

MOST_ROWS = 40
"""More rows than this are not listed; `--json` has them all."""


def replay_report(
    recorded: str, controller: str, decisions: int, found: Sequence[Difference]
) -> RenderableType:
    """`recorded` and `controller` are the names of the run's controller and of the other one, of
    so many decisions in all. Rows show the first of decisions that differ in the same way.
    """
    differing = sum(each.decisions for each in found)
    whole = counted(decisions, "decision")
    headline = f"{controller} decides differently in {differing:,} of {whole}"
    made = table("<From", "<To", ">Decisions", f"{recorded}, as recorded", controller)
    for each in found[:MOST_ROWS]:
        made.add_row(
            clock_text(each.first.at_s),
            clock_text(each.last_s),
            f"{each.decisions:,}",
            Text(f"{each.first.recorded.kind}: {each.first.recorded.reason}"),
            Text(f"{each.first.decision.kind}: {each.first.decision.reason}"),
        )
    parts: list[RenderableType] = [Text(headline, "bold")]
    parts += ["", made] if found else []
    if len(found) > MOST_ROWS:
        parts.append(Text(f"… and {len(found) - MOST_ROWS:,} more: --json lists them all", "dim"))
    return Group(*parts)
