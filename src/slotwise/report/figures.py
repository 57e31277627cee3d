"""Numbers as people read them: three digits that matter, thousands apart, no `inf`."""

from __future__ import annotations

import math


def figure(value: float, none: str = "–") -> str:
    """`none` stands for what has no finite value.

    >>> figure(0), figure(3.14159), figure(31.4159), figure(31415.9), figure(math.inf)
    ('0', '3.14', '31.4', '31,416', '–')
    """
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


def percent(part: float) -> str:
    """
    >>> percent(0.756), percent(math.inf)
    ('76%', '–')
    """
    return f"{part:.0%}" if math.isfinite(part) else "–"


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "slot"), counted(7, "slot")
    ('1 slot', '7 slots')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
