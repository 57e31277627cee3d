"""How long the command line takes from nothing to its answer: `python -m benchmarks.start_up`.

Each command runs in a process of its own, several times after one to warm caches. Prints a table;
asserts nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

PLAN = [sys.executable, "-m", "slotwise", "plan"]
COMMANDS = (
    ("python -c pass", [sys.executable, "-c", "pass"]),
    ("slotwise --help", [sys.executable, "-m", "slotwise", "--help"]),
    ("slotwise plan linear", [*PLAN, "linear", "--rate", "100"]),
    (
        "slotwise plan diamond",
        [*PLAN, "diamond", "--rate", "100"],
    ),
    ("slotwise plan loop", [*PLAN, "loop"]),
)


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    print(f"{'command':<24} {'seconds':>8} {'spread':>8}")
    for name, command in COMMANDS:
        seconds(command)
        times = [seconds(command) for _ in range(7)]
        print(f"{name:<24} {statistics.median(times):>8.3f} {max(times) - min(times):>8.3f}")


if __name__ == "__main__":
    main()
