"""Java's classes as they are once loaded, kept in a file: Spark's processes start faster.

Spark loads ten thousand classes and more into each of its processes, and on few cores that is a
third of a start-up. Java can write loaded classes to an archive and map that into memory later, in
place of reading, parsing and checking jars (class data sharing). The archive is beside our jar. It
fits one Java, one class path and the jars as they are: Java ignores any other.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import java

MAKE_SECONDS = 300
ROOM_MB = 250
SHARED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""At one address in all processes, so that they share its memory."""
QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
"""Otherwise a process whose class path was changed prints a warning."""


def file() -> Path:
    return java.classpath_jar().with_suffix(".jsa")


def options() -> list[str]:
    """For all our Java processes; empty if there is no archive that Java accepts.

    Java is asked once per program and archive, which takes about half a second.
    """
    archive = file()
    if archive.is_file() and _is_accepted(archive, archive.stat().st_mtime_ns):
        return [f"-XX:SharedArchiveFile={archive}", *SHARED, *QUIET]
    return []


def make() -> Path:
    """The archive, newly made: a Spark session does what drivers and executors do, and Java writes
    what it has loaded. About 40 s on two cores, and 180 MB.

    Raises SlotwiseError if that fails; then there is no archive, which only costs time.
    """
    java.check()
    archive = file()
    unfinished = archive.with_name(f"{archive.name}.{os.getpid()}")
    _make_room(archive, unfinished)
    try:
        _train(unfinished)
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)
    if not options():
        archive.unlink()
        raise SlotwiseError(f"{java.java()} does not accept the class archive that it made")
    return archive


def _make_room(archive: Path, unfinished: Path) -> None:
    """Remove what was there; refuse a folder in which no archive can be made."""
    try:
        unfinished.touch()
        for left in archive.parent.glob(f"{archive.name}*"):
            left.unlink()
    except OSError as error:
        raise SlotwiseError(
            f"{archive.parent} is not writable ({error.strerror}): run this command as the user "
            "who installed slotwise"
        ) from None
    free_mb = shutil.disk_usage(archive.parent).free / 1e6
    if free_mb < ROOM_MB:
        raise SlotwiseError(
            f"{archive.parent} has {free_mb:.0f} MB free, and {ROOM_MB} MB are needed"
        )


@cache
def _is_accepted(archive: Path, modified_ns: int) -> bool:
    command = [*java.launched("org.slotwise.Daemon")[:-1], "-Xshare:on", *SHARED]
    asked = [*command, f"-XX:SharedArchiveFile={archive}", "-version"]
    return subprocess.run(asked, capture_output=True).returncode == 0


def _train(archive: Path) -> None:
    """In a program of its own: a Java process writes its archive when it ends."""
    command = [sys.executable, "-m", "slotwise.spark.cluster.training", str(archive)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=java.environment(),
        start_new_session=True,
    ) as program:
        try:
            printed, _ = program.communicate(timeout=MAKE_SECONDS)
        except BaseException as ended:
            os.killpg(program.pid, signal.SIGKILL)  # with the Java process that it has started
            if isinstance(ended, subprocess.TimeoutExpired):
                raise SlotwiseError(f"Java made no class archive in {MAKE_SECONDS} s") from None
            raise
    if program.returncode or not archive.is_file():
        lines = printed.decode(errors="replace").split("\n")
        why = next((line for line in reversed(lines) if line.strip()), "it printed no reason")
        raise SlotwiseError(f"Java made no class archive: {why.strip()}")
