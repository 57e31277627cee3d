"""`slotwise prepare`: what is done once so that Spark starts faster afterwards."""

from __future__ import annotations

import time

from slotwise.cli import DONE
from slotwise.cli.output import note


def prepare() -> int:
    """Make the archive of Java's classes, unless there is one that Java accepts."""
    from slotwise.spark.cluster import class_archive, java

    java.check()
    if class_archive.options():
        print(f"already prepared: {class_archive.file()}")
        return DONE
    note("archiving the classes that Spark loads: about 40 s")
    began = time.monotonic()
    made = class_archive.make()
    megabytes = made.stat().st_size / 1e6
    print(f"{made}: {megabytes:.0f} MB, in {time.monotonic() - began:.0f} s")
    return DONE
