"""Folders named after the program that made them, so that those of killed programs are removed."""

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
    """A new folder for files, removed at the end; those of killed programs are removed first."""
    parent = Path(tempfile.gettempdir())
    for left in left_behind(parent):
        shutil.rmtree(left, ignore_errors=True)
    made = new_folder(parent)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def new_folder(parent: Path) -> Path:
    """A folder in `parent` with this program's process id in its name."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))


def left_behind(parent: Path) -> Iterator[Path]:
    """The folders in `parent` whose program has ended."""
    import psutil

    for folder in parent.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            yield folder
