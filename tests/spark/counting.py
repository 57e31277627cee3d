"""`slotwise run` as a program of its own, which counts keys and may be killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from slotwise.spark.cluster.folders import PREFIX
from tests.spark.conftest import wait_until
from tests.spark.running import written

KEYS = 5
RATE = 100
SPEC = f"""
topology:
  name: counted
  operators:
    s: {{kind: source, expr: "CAST(id % {KEYS} AS STRING)"}}
    c: {{aggregate: {{by: value, n: count(*)}}}}
    k: {{kind: sink}}
    z: {{kind: sink}}
  streams:
    - {{from: s, to: c, grouping: {{fields: value}}}}
    - {{from: c, to: k}}
    - {{from: s, to: z}}
profiles:
  s: {{fixed: {{cpu: 0.1}}}}
  c: {{fixed: {{threads: 2, cpu: 0.2}}}}
  k: {{fixed: {{cpu: 0.1}}}}
  z: {{fixed: {{cpu: 0.1}}}}
cluster:
  - {{name: left, slots: 1, memory_gb: 1}}
  - {{name: right, slots: 1, memory_gb: 1}}
scheduler: {{placer: round-robin}}
"""


def command(
    folder: Path, seconds: int = 600, spec: str = SPEC, more: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """Start it, with `more` options; checkpoint, output and what it tells are in `folder`."""
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    program = "import sys; from slotwise.cli import run; sys.exit(run(sys.argv[1:]))"
    options = ["--rate", str(RATE), "--for", f"{seconds}s", "--batch", "2s", "--json"]
    folders = ["--checkpoint", str(folder / "checkpoint"), "--output", str(folder / "out")]
    with (folder / "told").open("w") as told:
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                program,
                "run",
                str(folder / "spec.yaml"),
                *options,
                *folders,
                *more,
            ],
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )


@contextmanager
def writing(folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """The command, once it is watched and has written something; killed at the end if it still
    runs.
    """
    before = len(written(folder))
    started = command(folder, more=more)

    def goes_on() -> bool:
        assert started.poll() is None, told(folder)
        return "start-up: " in told(folder) and len(written(folder)) > before

    try:
        wait_until(goes_on, seconds=150)
        yield started
    finally:
        started.kill()
        started.communicate()


def told(folder: Path) -> str:
    """What the last command has told on its way."""
    return (folder / "told").read_text(encoding="utf-8")


def ids(folder: Path) -> set[int]:
    """Those that have passed through, beside the counts."""
    return {row["id"] for row in written(folder) if row["_sink"] == "z"}


def check(folder: Path) -> None:
    """No id is missing up to the last one, and every key was counted as often as it came."""
    seen = ids(folder)
    assert seen == set(range(len(seen)))
    counts: Counter[str] = Counter()
    for row in written(folder):
        if row["_sink"] == "k":
            counts[row["record1"]["value"]] = max(
                counts[row["record1"]["value"]], row["record1"]["n"]
            )
    assert counts == Counter(str(id % KEYS) for id in seen)


def folders(pid: int) -> list[Path]:
    """Those that a program has made for its cluster."""
    return list(Path(tempfile.gettempdir()).glob(f"{PREFIX}{pid}-*"))


def workers(pid: int) -> list[psutil.Process]:
    """Those of a program's cluster."""
    return [child for child in psutil.Process(pid).children(recursive=True) if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any(part.endswith("worker.Worker") for part in process.cmdline())
    except psutil.NoSuchProcess:  # it has just ended
        return False
