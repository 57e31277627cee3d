"""Counts in sentences."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """The number with its noun, in the plural unless it is 1.

    >>> counted(1, "slot"), counted(7000, "slot"), counted(2, "vertex", "vertices")
    ('1 slot', '7,000 slots', '2 vertices')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
