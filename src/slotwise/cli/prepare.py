"""`slotwise prepare`: what is done once so that Spark starts faster afterwards."""

from __future__ import annotations

import time

from slotwise.cli import DONE
from slotwise.cli.output import note


def prepare() -> int:
    """Make the archive of Java's classes, unless there is one that Java takes."""
    from slotwise.spark import archive, java

    java.check()
    if archive.options():
        print(f"prepared already: {archive.file()}")
        return DONE
    note("letting Java archive the classes that Spark loads: some 40 s")
    began = time.monotonic()
    made = archive.make()
    megabytes = made.stat().st_size / 1e6
    print(f"{made}: {megabytes:.0f} MB, in {time.monotonic() - began:.0f} s")
    return DONE
