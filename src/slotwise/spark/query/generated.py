"""Bundled data sets as files, which sources replay."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

from slotwise.spark.cluster.folders import passing_folder
from slotwise.workloads import data


@cache
def file_of(name: str) -> Path:
    """A file with the lines of the data set. It lasts as long as this program, as a query may be
    compiled several times and started again.
    """
    file = _folder() / f"{name}.txt"
    file.write_text("".join(f"{line}\n" for line in data.lines(name)), encoding="utf-8")
    return file


@cache
def _folder() -> Path:
    made = passing_folder()
    folder = made.__enter__()
    atexit.register(made.__exit__, None, None, None)
    return folder
