"""Where in a user's code an exception comes from, and what it says, in one line."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

import slotwise

OTHERS = (
    str(Path(slotwise.__file__).parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
)
"""Files that are no user's begin with these."""


def what_of(error: BaseException) -> str:
    """The place, the exception's class and its message.

    >>> what_of(ValueError("no such country"))
    'ValueError: no such country'
    """
    place = place_of(error)
    said = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    said = re.sub(r"^\[[A-Z_.]+\] ", "", said).rstrip(".")
    if not isinstance(error, ImportError | SyntaxError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{place}: {said}" if place else said


def place_of(error: BaseException) -> str | None:
    """The file and line of the user's that it was raised in, or by a call from there."""
    if isinstance(error, SyntaxError) and error.filename:
        return _place(error.filename, error.lineno)
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(OTHERS)
    ]
    return _place(own[-1].filename, own[-1].lineno) if own else None


def is_in_pyspark(error: BaseException) -> bool:
    """Whether PySpark itself has raised it: it asserts that there is a session."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and "pyspark" in Path(frames[-1].filename).parts


def _place(file: str, line: int | None) -> str:
    path = Path(file)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}, line {line}"
