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
TRACEBACK = "Traceback (most recent call last):"


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
        frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)
    ]
    return _place(own[-1].filename, own[-1].lineno) if own else None


def what_of_text(text: str) -> str | None:
    r"""As `what_of`, of the last traceback in a text; None if there is none.

    >>> trace = 'Traceback (most recent call last):\n  File "/my/f.py", line 3, in f\n    1 // 0\n'
    >>> what_of_text(f"Task failed: {trace}ZeroDivisionError: division by zero\n at Java")
    '/my/f.py, line 3: ZeroDivisionError: division by zero'
    """
    _, begin, trace = text.rpartition(TRACEBACK)
    said = re.search(r"^(?!\s)(.+)$", trace.partition("\n")[2], re.MULTILINE)
    if not begin or said is None:
        return None
    places = [
        (file, int(line))
        for file, line in re.findall(r'^ +File "([^"]+)", line (\d+)', trace, re.MULTILINE)
        if _is_users(file)
    ]
    sentence = said[1].strip().rstrip(".")
    return f"{_place(*places[-1])}: {sentence}" if places else sentence


def is_in_pyspark(error: BaseException) -> bool:
    """Whether PySpark itself has raised it: it asserts that there is a session."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and "pyspark" in Path(frames[-1].filename).parts


def _is_users(file: str) -> bool:
    """Compiled packages name their files by relative paths; a worker's packages may be elsewhere
    than the driver's.
    """
    is_file = Path(file).is_absolute() or file.startswith("<")
    return is_file and not file.startswith(OTHERS) and "pyspark" not in Path(file).parts


def _place(file: str, line: int | None) -> str:
    path = Path(file)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}, line {line}"
