"""`slotwise doctor`: is everything here that planning and running need?"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Literal

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import show
from slotwise.cli.parameters import Json
from slotwise.json_data import json_text
from slotwise.machine import package_version

GB = 1024**3


@dataclass(frozen=True)
class Check:
    """One check. `fix` is empty when it passes."""

    name: str
    found: str
    fix: str
    needed_for: Literal["plan", "run"]

    @property
    def ok(self) -> bool:
        return not self.fix


def doctor(*, json: Json = False) -> int:
    """Run all checks and show them."""
    checks = list(all_checks())
    if json:
        print(json_text([{**asdict(check), "ok": check.ok} for check in checks]), end="")
    else:
        _show_table(checks)
    return ERROR if any(not c.ok and c.needed_for == "plan" for c in checks) else DONE


def all_checks() -> Iterator[Check]:
    yield python_check(sys.version_info[:3])
    yield from package_checks()
    yield from spark_checks()
    yield pandas_check(package_version("pandas"))
    yield archive_check()
    yield from machine_checks()


def python_check(version: tuple[int, ...]) -> Check:
    fix = "" if version >= (3, 11) else "install Python 3.11 or newer"
    return Check("Python", ".".join(map(str, version)), fix, "plan")


def package_checks() -> Iterator[Check]:
    """All packages that planning needs, in one line."""
    needed = [
        re.split(r"[^A-Za-z0-9._-]", requirement)[0]
        for requirement in metadata.requires("slotwise") or ()
        if "extra ==" not in requirement
    ]
    missing = [name for name in needed if package_version(name) is None]
    found = f"{len(needed) - len(missing)} of {len(needed)}"
    fix = f"pip install {' '.join(missing)}" if missing else ""
    yield Check("packages", found, fix, "plan")


def spark_checks() -> Iterator[Check]:
    """What Spark needs, as a run checks it, and the compiler that builds the jar."""
    from slotwise.spark.cluster import java

    for found in (*java.requirements(), java.javac_requirement()):
        yield Check(found.name, found.found, found.fix, "run")


def pandas_check(version: str | None) -> Check:
    from slotwise.spark.cluster.java import SPARK_FIX

    if version is None:
        return Check("pandas", "not installed", SPARK_FIX, "run")
    fix = "" if int(version.split(".")[0]) < 3 else "pip install 'pandas<3'"
    return Check("pandas", version, fix, "run")


def archive_check() -> Check:
    """Spark also runs without it, so there is nothing to fix."""
    from slotwise.model import SlotwiseError
    from slotwise.spark.cluster import class_archive

    try:
        found = (
            "found"
            if class_archive.options()
            else "none: 'slotwise prepare' makes Spark start faster"
        )
    except SlotwiseError:  # what is missing for it has a line of its own
        found = "none"
    return Check("class archive", found, "", "run")


def machine_checks() -> Iterator[Check]:
    """Spark's driver and one executor need 2 GB, 2 cores, and disk space for shuffle files."""
    import psutil

    memory = psutil.virtual_memory()
    fix = "" if memory.available >= 2 * GB else "free some memory: running needs 2 GB"
    found = f"{memory.available / GB:.1f} GB free of {memory.total / GB:.1f}"
    yield Check("memory", found, fix, "run")
    cores = os.cpu_count() or 1
    yield Check("cores", f"{cores}", "" if cores >= 2 else "running needs 2 cores", "run")
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    fix = "" if free >= GB else f"free 1 GB in {folder}, or set TMPDIR to a larger disk"
    yield Check("disk", f"{free / GB:.1f} GB free in {folder}", fix, "run")


def _show_table(checks: list[Check]) -> None:
    from rich.text import Text

    from slotwise.report.tables import table

    made = table("", "Check", "Found", "Fix")
    for check in checks:
        needed = "" if check.ok or check.needed_for == "plan" else " (needed for 'run' only)"
        colour = "green" if check.ok else "red" if check.needed_for == "plan" else "yellow"
        made.add_row(
            Text("ok" if check.ok else "wrong", colour),
            Text(check.name),
            Text(check.found),
            Text(check.fix + needed),
        )
    show(made)
