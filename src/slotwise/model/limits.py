"""How large counts and figures may be, and the checks of every figure that a user gives.

Figures are floats in the model, also where an integer was given: compiled kernels are compiled for
one type. The checks know what they check, and whose it is, for their sentence: clusters have many
machines, so it is made only where it is needed.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

from slotwise.model.errors import ModelError, Path

MOST = 1_000_000
"""A plan names every thread, slot and machine, so it grows with them: this many take about 2.5 GB
and half a minute. Real ones have thousands; more is a wrong unit or a slip of the finger."""
SMALLEST, LARGEST = 1e-12, 1e12
"""Of what is measured: rates, costs, memory, prices. Products of a few such figures are still far
from what a float can hold."""
RANGE = f"a number from {SMALLEST:g} to {LARGEST:g}"


def in_range(figure: float) -> bool:
    """Whether a figure is 0 or has a magnitude that can be computed with."""
    return figure == 0 or SMALLEST <= figure <= LARGEST


def positive(figure: float, what: str, whose: str = "", path: Path = ()) -> float:
    """The figure as a float. Raises ModelError unless it is a finite number > 0."""
    if not 0 < figure <= sys.float_info.max:
        raise _unexpected(figure, what, whose, "a number > 0", path)
    return float(figure)


def not_negative(figure: float, what: str, whose: str = "", path: Path = ()) -> float:
    """The figure as a float. Raises ModelError unless it is a finite number ≥ 0."""
    if not 0 <= figure <= sys.float_info.max:
        raise _unexpected(figure, what, whose, "a number ≥ 0", path)
    return float(figure)


def check_range(figure: float, what: str, whose: str = "", path: Path = ()) -> None:
    """Raise ModelError unless the figure is in range."""
    if not in_range(figure):
        raise _unexpected(f"{figure:g}", what, whose, RANGE, path)


def count(number: int, what: str, whose: str = "", path: Path = ()) -> int:
    """The number as an int. Raises ModelError unless it is an integer ≥ 1."""
    try:
        whole = operator.index(number)
    except TypeError:
        whole = 0
    if whole < 1:
        raise _unexpected(number, what, whose, "an integer ≥ 1", path)
    return whole


def set_fields(value: Any, **fields: object) -> None:
    """Set fields of a frozen value that is being made."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


def _unexpected(value: object, what: str, whose: str, expected: str, path: Path) -> ModelError:
    owner = f" of '{whose}'" if whose else ""
    return ModelError(f"{what}{owner} is {value}: expected {expected}", path)
