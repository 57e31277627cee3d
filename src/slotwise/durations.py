"""Durations as text: `500ms`, `90s`, `5m`, `1h`; a plain number is seconds."""

from __future__ import annotations

import math
import re

from slotwise.model import ModelError

_UNIT_S = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*(ms|s|m|h|)", re.ASCII)


def seconds(given: str | float) -> float:
    """A duration of 0 or more. Raises ModelError.

    >>> seconds("1.5m"), seconds("250ms"), seconds(90)
    (90.0, 0.25, 90.0)
    """
    found = _DURATION.fullmatch(str(given).strip())
    value = float(found[1] + (found[2] or "")) * _UNIT_S[found[3]] if found else math.nan
    if isinstance(given, bool) or not math.isfinite(value):
        raise ModelError(
            f"invalid duration '{given}': expected a number with ms, s, m or h, such as 90s"
        )
    return value


def positive_seconds(given: str | float) -> float:
    """A duration above 0. Raises ModelError."""
    value = seconds(given)
    if value == 0:
        raise ModelError(f"invalid duration '{given}': expected more than 0")
    return value
