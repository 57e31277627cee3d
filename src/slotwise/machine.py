"""This machine, as measurements name it; importable without pyspark."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

from slotwise.model import Measurement
from slotwise.model.measurement import MeasurementSource

_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Machine:
    """What figures that were measured here depend on."""

    cpu: str
    """The CPU model."""
    cores: int
    memory_mb: float


def describe() -> Machine:
    import psutil

    memory_mb = psutil.virtual_memory().total / 2**20
    return Machine(cpu_model(), os.cpu_count() or 1, memory_mb)


@cache
def cpu_model() -> str:
    """As Linux has it; elsewhere, and where Linux has none, what Python knows."""
    try:
        printed = _CPU_INFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        printed = ""
    named = re.search(r"^model name\s*:\s*(.*\S)", printed, re.MULTILINE)
    return named[1] if named else platform.processor() or platform.machine() or "unknown"


def package_version(package: str) -> str | None:
    """Of an installed Python package, which is not imported; None: it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def spark_version() -> str | None:
    return package_version("pyspark")


@cache
def java_version() -> str | None:
    """Of the Java that Spark starts; None: there is none. Starts it once, about 0.1 s."""
    from slotwise.spark.cluster import java

    return java.version()


def measured_now(
    cores: float | None,
    memory_mb: float,
    source: MeasurementSource,
    *,
    here: bool = True,
    trials: int = 1,
    spread: float | None = None,
) -> Measurement:
    """Of what ends now; `here`: on this machine, and not on a cluster elsewhere."""
    return Measurement(
        datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        spark_version() or "unknown",
        java_version() or "unknown",
        cpu_model() if here else "unknown",
        cores,
        memory_mb,
        trials,
        spread,
        source,
    )
