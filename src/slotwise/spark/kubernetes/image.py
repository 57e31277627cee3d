"""Where things are in Slotwise's image, as Dockerfile puts them."""

from __future__ import annotations

import shlex

from slotwise.spark.cluster.class_archive import QUIET, SHARED

FOLDER = "/opt/slotwise"
WORK = f"{FOLDER}/work"
"""The spec and the plan that were submitted, mounted there."""
JAR = f"{FOLDER}/python/slotwise/spark/jars/slotwise-spark.jar"
ARCHIVE = JAR.replace(".jar", ".jsa")
PROGRAM = f"local://{FOLDER}/python/slotwise/spark/submitted.py"


def java_options() -> str:
    """Of executors: Java takes the archive of classes, or goes on without."""
    return shlex.join([f"-XX:SharedArchiveFile={ARCHIVE}", *SHARED, *QUIET])
