"""Verdicts on goals, for the terminal."""

from __future__ import annotations

from rich.text import Text

from slotwise.model import Verdict

_MARKS = {"met": ("✓", "green"), "missed": ("✗", "red"), "not tested": ("?", "yellow")}


def verdict_text(verdict: Verdict) -> Text:
    """One line: a mark and the sentence with the figures."""
    mark, colour = _MARKS[verdict.outcome]
    untested = ": not tested" if verdict.outcome == "not tested" else ""
    return Text(f"{mark} {verdict.reason}{untested}", colour)
