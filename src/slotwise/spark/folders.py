"""Folders for what a run needs while it lasts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "slotwise-"


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A new folder, gone at the end; those of programs that were killed are removed first."""
    _sweep()
    made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _sweep() -> None:
    import psutil

    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
