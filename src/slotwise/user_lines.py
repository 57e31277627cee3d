"""Where in the user's program a call comes from."""

from __future__ import annotations

import contextlib
import inspect
import os
from pathlib import Path


def user_line() -> str:
    """The line of the user's program that is being executed."""
    frame = inspect.currentframe()
    ours = (os.path.dirname(__file__), contextlib.__file__)
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        frame = frame.f_back
    if frame is None:
        return "an unknown line"
    path = Path(frame.f_code.co_filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}, line {frame.f_lineno}"
