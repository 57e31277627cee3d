"""Every bundled example as a new user runs it: `python -m benchmarks.examples [NAME ...]`.

Each is one command, `slotwise run NAME --for 10s`, in a process of its own. Prints Markdown for
docs/, and what was printed beside the figures, as it comes. A run that delivers nothing or ends
with an error ends the benchmark with 1; goals may be missed on a small machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from slotwise import workloads
from slotwise.cli import DONE, ERROR, GOAL_MISSED
from slotwise.spec import load

SECONDS = 10
WITHOUT_A_TOPIC = ("loop",)
"""What has an operator that needs a broker: the command is refused with advice."""
HEADINGS = (
    "example",
    "exit code",
    "scale",
    "slots",
    "threads",
    "offered/s",
    "finished/s",
    "p50, ms",
    "p99, ms",
    "kept pace",
    "goals missed",
    "start-up, s",
    "load",
)
Row = tuple[str, ...]


def main() -> None:
    chosen = sys.argv[1:] or list(workloads.names())
    print(line(HEADINGS))
    print(line(["---", *["--:"] * (len(HEADINGS) - 1)]))
    failed = [name for name in chosen if not shown(name)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def shown(name: str) -> bool:
    """Run it and print its row; whether it ended as it should."""
    command = [sys.executable, "-m", "slotwise", "run", name, "--for", f"{SECONDS}s"]
    ran = subprocess.run(
        [*command, "--json", "--runs", "none"], check=False, stdout=subprocess.PIPE, text=True
    )
    if not ran.stdout:
        print(line([name, str(ran.returncode), *["–"] * (len(HEADINGS) - 2)]), flush=True)
        return ran.returncode == ERROR and name in WITHOUT_A_TOPIC
    found = json.loads(ran.stdout)
    print(line(row(name, ran.returncode, found)), flush=True)
    return ran.returncode in (DONE, GOAL_MISSED) and found["measured"]["throughput"] > 0


def row(name: str, exit_code: int, found: Mapping[str, Any]) -> Row:
    """Figures of `slotwise run --json`."""
    seen, planned = found["measured"], found["predicted"]
    missed = [each["goal"] for each in found["goals"] if each["outcome"] == "missed"]
    whole = load(name).goals.rate
    assert whole is not None
    return (
        name,
        str(exit_code),
        f"{planned['offered_rate'] / whole:.4g}",
        str(len(planned["slots"])),
        str(found["threads"]),
        f"{seen['offered_rate']:,.1f}",
        f"{seen['throughput']:,.1f}",
        f"{seen['latency_p50_ms']:,.0f}",
        f"{seen['latency_p99_ms']:,.0f}",
        "yes" if seen["stable"] else "no",
        ", ".join(missed) or "none",
        f"{sum(found['start_up_seconds'].values()):.0f}",
        f"{os.getloadavg()[0]:.1f}",
    )


def line(cells: list[str] | Row) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
