"""Numbers as people read them: three digits that matter, thousands apart, no `inf`."""

from __future__ import annotations

import math


def figure(value: float | None, none: str = "–") -> str:
    """`none` stands for what is infinite; what is not known is always a dash.

    >>> figure(0), figure(3.14159), figure(31.4159), figure(31415.9), figure(math.inf)
    ('0', '3.14', '31.4', '31,416', '–')
    """
    if value is None:
        return "–"
    if not math.isfinite(value):
        return none
    size = abs(value)
    digits = 0 if size >= 1000 or size < 1e-9 else 1 if size >= 10 else 2
    return f"{value:,.{digits}f}"


def rate(value: float) -> str:
    """A rate as it was asked for: whole where it is whole.

    >>> rate(100.0), rate(0.5), rate(20000.0)
    ('100', '0.5', '20,000')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,g}"


def percent(part: float | None) -> str:
    """
    >>> percent(0.756), percent(math.inf), percent(None)
    ('76%', '–', '–')
    """
    return f"{part:.0%}" if part is not None and math.isfinite(part) else "–"
