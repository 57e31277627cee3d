"""A CPU quota per slot, by Linux control groups, where they may be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slotwise.model import SlotwiseError

ROOT = Path("/sys/fs/cgroup")
PREFIX = "slotwise-"


@dataclass(frozen=True)
class Quota:
    """A group under which each executor makes one for itself and enters it (jvm/…/CpuQuota.java).

    So an executor that Spark starts anew is limited, too, and the time Java takes to start is not.
    """

    group: Path
    version: int
    cores: Mapping[str, float]
    """Per host, the cores that each of its executors may use."""

    @property
    def conf(self) -> dict[str, str]:
        """For the Spark session."""
        return {
            "spark.slotwise.cgroup": str(self.group),
            "spark.slotwise.cgroup.version": str(self.version),
            "spark.slotwise.cgroup.cores": ",".join(f"{h}={c}" for h, c in self.cores.items()),
        }

    def remove(self) -> None:
        """Remove the groups; their processes must have ended."""
        _remove(self.group)


def quota(cores_per_slot: float, speeds: Mapping[str, float]) -> Quota:
    """Make the group, or raise SlotwiseError where that is not permitted."""
    version, parent = _hierarchy()
    _sweep(parent)
    try:
        group = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
        if version == 2:
            (group / "cgroup.subtree_control").write_text("+cpu")
        elif not (group / "cpu.cfs_quota_us").exists():
            group.rmdir()
            raise OSError(0, "it has no CPU quota")
    except OSError as refused:
        raise SlotwiseError(
            f"no CPU quota per slot: {parent} cannot be written ({refused.strerror}): "
            "leave out cores_per_slot or run with that permission"
        ) from refused
    return Quota(group, version, {host: cores_per_slot * speed for host, speed in speeds.items()})


def _sweep(parent: Path) -> None:
    """Remove the groups of programs that ended without doing so."""
    import psutil

    for left in parent.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            _remove(left)


def _remove(group: Path) -> None:
    # The kernel refuses while a process is ending in it; then the next cluster's sweep does it.
    with suppress(OSError):
        for inner in group.glob("*/"):
            inner.rmdir()
        group.rmdir()


def _hierarchy() -> tuple[int, Path]:
    """The version of control groups in use, and this process's own group of CPU time."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            mount = ROOT / controllers if (ROOT / controllers).exists() else ROOT / "cpu"
            return 1, mount / path.lstrip("/")
        if controllers == "" and (ROOT / "cgroup.controllers").exists():
            return 2, ROOT / path.lstrip("/")
    raise SlotwiseError("no CPU quota per slot: this system has no control groups for CPU time")
