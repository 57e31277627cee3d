"""The check that placers make of their options."""

from __future__ import annotations


def check_option(name: str, value: float, holds: bool, expected: str) -> None:
    """Raise ValueError unless the option's value is as expected.

    >>> check_option("alpha", 2, 0 <= 2 <= 1, "a number from 0 to 1")
    Traceback (most recent call last):
    ValueError: alpha: invalid value '2': expected a number from 0 to 1
    """
    if not holds:
        raise ValueError(f"{name}: invalid value '{value}': expected {expected}")
