"""Checks of controllers' options."""

from __future__ import annotations

import math


def check_positive(**options: float) -> None:
    """Raises ValueError for the first that is not a finite number > 0."""
    for name, value in options.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}: invalid value '{value}': expected a number > 0")


def check_parts(**options: float) -> None:
    """Raises ValueError for the first that is not between 0 and 1."""
    for name, value in options.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: invalid value '{value}': expected a number from 0 to 1")
