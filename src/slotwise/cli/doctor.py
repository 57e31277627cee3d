"""`slotwise doctor`: is everything here that planning and running need?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Literal

from slotwise.cli import DONE, ERROR
from slotwise.cli.output import json_text, show
from slotwise.cli.parameters import Json

GB = 1024**3
JAVA_FIX = "apt-get install openjdk-17-jdk-headless"
SPARK_FIX = "pip install 'slotwise[spark]'"
VECTOR_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True)
class Check:
    """One thing looked at. `fix` is empty when it is well."""

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
    yield java_check(_output(_java_command("java"), "-version"))
    yield vector_check(_output(_java_command("java"), "--list-modules"))
    yield javac_check(_output(_java_command("javac"), "-version"))
    yield pyspark_check(_version("pyspark"))
    yield pandas_check(_version("pandas"))
    yield archive_check()
    yield from machine_checks()


def python_check(version: tuple[int, ...]) -> Check:
    fix = "" if version >= (3, 11) else "install Python 3.11 or newer"
    return Check("Python", ".".join(map(str, version)), fix, "plan")


def package_checks() -> Iterator[Check]:
    """Every package that planning needs, in one line if all are there."""
    needed = [
        re.split(r"[^A-Za-z0-9._-]", requirement)[0]
        for requirement in metadata.requires("slotwise") or ()
        if "extra ==" not in requirement
    ]
    missing = [name for name in needed if _version(name) is None]
    found = f"{len(needed) - len(missing)} of {len(needed)}"
    fix = f"pip install {' '.join(missing)}" if missing else ""
    yield Check("packages", found, fix, "plan")


def java_check(told: str | None) -> Check:
    """`told` is what `java -version` prints; None if there is no Java."""
    version = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', told or "")
    if version is None:
        return Check("Java", "not found", JAVA_FIX, "run")
    fix = "" if int(version[1]) >= 17 else f"{JAVA_FIX}, or set JAVA_HOME to a newer one"
    return Check("Java", version[1] + version[2], fix, "run")


def vector_check(modules: str | None) -> Check:
    if VECTOR_MODULE in (modules or ""):
        return Check(VECTOR_MODULE, "there", "", "run")
    return Check(VECTOR_MODULE, "not found", f"{JAVA_FIX} (a Java with this module)", "run")


def javac_check(told: str | None) -> Check:
    version = re.search(r"javac (\S+)", told or "")
    if version is None:
        return Check("javac", "not found", JAVA_FIX, "run")
    return Check("javac", version[1], "", "run")


def pyspark_check(version: str | None) -> Check:
    fix = "" if (version or "").startswith("4.3.") else SPARK_FIX
    return Check("pyspark", version or "not installed", fix, "run")


def pandas_check(version: str | None) -> Check:
    if version is None:
        return Check("pandas", "not installed", SPARK_FIX, "run")
    fix = "" if int(version.split(".")[0]) < 3 else "pip install 'pandas<3'"
    return Check("pandas", version, fix, "run")


def archive_check() -> Check:
    """Nothing is wrong without it."""
    from slotwise.model import SlotwiseError
    from slotwise.spark import archive

    try:
        found = (
            "there" if archive.options() else "none: 'slotwise prepare' makes Spark start faster"
        )
    except SlotwiseError:  # what is missing for it has a line of its own
        found = "none"
    return Check("class archive", found, "", "run")


def machine_checks() -> Iterator[Check]:
    """Spark's driver and one executor want 2 GB, 2 cores, and some room for shuffle files."""
    import psutil

    memory = psutil.virtual_memory()
    fix = "" if memory.available >= 2 * GB else "free some memory: running wants 2 GB"
    found = f"{memory.available / GB:.1f} GB free of {memory.total / GB:.1f}"
    yield Check("memory", found, fix, "run")
    cores = os.cpu_count() or 1
    yield Check("cores", f"{cores}", "" if cores >= 2 else "running wants 2 cores", "run")
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    fix = "" if free >= GB else f"free 1 GB in {folder}, or set TMPDIR to a larger disk"
    yield Check("disk", f"{free / GB:.1f} GB free in {folder}", fix, "run")


def _java_command(name: str) -> str:
    """As Spark finds it: in JAVA_HOME, else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", name) if home else name


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _show_table(checks: list[Check]) -> None:
    from rich.text import Text

    from slotwise.report.tables import table

    made = table("", "Check", "Found", "To mend it")
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
