"""A CPU quota per slot, by Linux control groups, where they are writable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from slotwise.model import SlotwiseError
from slotwise.spark.cluster.folders import left_behind, new_folder

ROOT = Path("/sys/fs/cgroup")


class NotPermitted(SlotwiseError):
    """Control groups are not there, or not writable; `why` is the sentence without advice."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}: omit --cores-per-slot, or run with permission to write control groups"
        )
        self.why = why


@dataclass(frozen=True)
class Quota:
    """A group under which each executor makes one for itself and enters it (jvm/…/CpuQuota.java).

    So an executor that replaces a lost one is limited, too, and the start of its Java is not. How
    many cores it may use, it has from its worker (`processes.Worker`).
    """

    group: Path
    version: int

    @property
    def conf(self) -> dict[str, str]:
        """For the Spark session."""
        return {
            "spark.slotwise.cgroup": str(self.group),
            "spark.slotwise.cgroup.version": str(self.version),
        }

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """No limit for the executors that have entered their groups, until the block ends."""
        name, none = ("cpu.max", "max") if self.version == 2 else ("cpu.cfs_quota_us", "-1")
        limits = {file: file.read_text() for file in self.group.glob(f"*/{name}")}
        try:
            for file in limits:
                file.write_text(none)
            yield
        finally:
            for file, limit in limits.items():
                file.write_text(limit)

    def remove(self) -> None:
        """Remove the groups; their processes must have ended."""
        _remove(self.group)


def lifted(quota: Quota | None) -> AbstractContextManager[None]:
    """For a warm-up: Java compiles a new query within seconds, which takes a slot with a small CPU
    quota half a minute. Without a quota there is nothing to lift.
    """
    return nullcontext() if quota is None else quota.lifted()


def quota() -> Quota:
    """Make the group, or raise NotPermitted. Groups of killed programs are removed."""
    version, parent = _hierarchy()
    for left in left_behind(parent):
        _remove(left)
    try:
        group = new_folder(parent)
        if version == 2:
            (group / "cgroup.subtree_control").write_text("+cpu")
        elif not (group / "cpu.cfs_quota_us").exists():
            group.rmdir()
            raise OSError(0, "no CPU quota there")
    except OSError as refused:
        raise NotPermitted(
            f"cannot set a CPU quota per slot: {parent} is not writable ({refused.strerror})"
        ) from refused
    return Quota(group, version)


def _remove(group: Path) -> None:
    # The kernel refuses while a process in it is still ending; then the next quota removes it.
    with suppress(OSError):
        for inner in group.glob("*/"):
            inner.rmdir()
        group.rmdir()


def _hierarchy() -> tuple[int, Path]:
    """The version of control groups in use, and this process's own group for CPU time."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            mount = ROOT / controllers if (ROOT / controllers).exists() else ROOT / "cpu"
            return 1, mount / path.lstrip("/")
        if controllers == "" and (ROOT / "cgroup.controllers").exists():
            return 2, ROOT / path.lstrip("/")
    raise NotPermitted(
        "cannot set a CPU quota per slot: this system has no control groups for CPU time"
    )
