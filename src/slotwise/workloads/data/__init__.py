"""Data that looks like the papers': one module per data set, as lines of text.

A source replays a data set by `payload: generated(NAME)`: record n holds line n, from the top again
after the last. Each module has a function `lines()`, which gives the same lines every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from slotwise.model import ModelError
from slotwise.suggestions import instead_of

NAMES = (
    "access-log",
    "clicks",
    "frames",
    "gps",
    "leaving-tweets",
    "messages",
    "meters",
    "positions",
    "ticks",
    "tweets",
)


def check(name: str) -> None:
    """Raise ModelError for a name that is no data set."""
    if name not in NAMES:
        raise ModelError(f"unknown data set '{name}': {instead_of(name, NAMES)}")


def lines(name: str) -> Iterator[str]:
    """The records of a data set, one line each."""
    check(name)
    made: Iterator[str] = import_module(f"{__name__}.{name.replace('-', '_')}").lines()
    return made
