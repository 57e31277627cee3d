"""How long the command line takes from nothing to its answer: `python -m benchmarks.start_up`.

The help text, and a plan of every bundled example by the default search and by a named pair. Each
command runs in a process of its own, several times after one to warm caches. Prints Markdown for
docs/; asserts nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from slotwise import workloads
from slotwise.cli import DONE, GOAL_MISSED

SLOTWISE = (sys.executable, "-m", "slotwise")
SEARCHED = ("--allocator", "auto", "--provisioner", "auto", "--placer", "auto")
NAMED = ("--allocator", "mba", "--placer", "sam")
TIMES = 5


def main() -> None:
    print("| command | aim: s | median: s | spread |")
    print("| --- | --: | --: | --: |")
    for name, aim, command in commands():
        seconds(command)
        times = [seconds(command) for _ in range(TIMES)]
        spread = max(times) - min(times)
        print(f"| {name} | {aim} | {statistics.median(times):.2f} | {spread:.2f} |", flush=True)


def commands() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(name, aim in seconds, command)."""
    yield "`python -c pass`", "–", (sys.executable, "-c", "pass")
    yield "`slotwise --help`", "0.3", (*SLOTWISE, "--help")
    for example in workloads.names():
        yield f"{example}, searched", "5", (*SLOTWISE, "plan", example, *SEARCHED)
        yield f"{example}, mba + sam", "1.5", (*SLOTWISE, "plan", example, *NAMED)


def seconds(command: tuple[str, ...]) -> float:
    start = time.perf_counter()
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    took = time.perf_counter() - start
    if ran.returncode not in (DONE, GOAL_MISSED):
        raise SystemExit(f"{' '.join(command[1:])} failed: {ran.stderr}")
    return took


if __name__ == "__main__":
    main()
