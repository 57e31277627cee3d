"""Profiles on Spark: two procedures for the same figures, and how long they take.

    python -m benchmarks.profiles [NAME ...]

NAME is one of procedures, operator, pipeline; all if none is given. Prints Markdown for docs/.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import slotwise
from slotwise.cli.output import note
from slotwise.model import Logic, Operator
from slotwise.profilers.bench import Bench
from slotwise.profilers.case import Captured, Case
from slotwise.profilers.experiment import Slot, measure, prepared
from slotwise.profilers.operators import Procedure, profiled
from slotwise.profilers.peaks import FindPeak, Staircase, saturation

WORK = {
    "computes for 5 ms": "burn_us(5000) > 0",
    "waits for 20 ms": "wait_us(20000) > 0",
    "both, 3 and 10 ms": "burn_us(3000) + wait_us(10000) > 0",
}

THREADS = (1, 4)
STEP, FROM = 0.02, 0.8
"""Of the staircase, as parts of the rate that saturation found."""


def main() -> None:
    chosen = [each for each in MEASURES if each.__name__ in sys.argv[1:] or not sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder, prepared(Slot(cores=1.0), note) as on:
        for measured in chosen:
            print(f"\n{measured.__doc__}\n")
            measured(on, Path(folder))


def procedures(on: Bench, folder: Path) -> None:
    """The highest stable rate by saturation, and by paper 1's staircase in steps of 2 % of that."""
    print("| operator | threads | saturation | staircase | ratio | seconds |")
    print("| --- | --: | --: | --: | --: | --: |")
    for name, work in WORK.items():
        case = _case(name, work, folder)
        for threads in THREADS:
            flooded, flooded_s = _timed(saturation, on, case, threads)
            # The steps below would take minutes.
            stairs = Staircase(STEP * flooded, first=round(FROM / STEP))
            climbed, climbed_s = _timed(stairs, on, case, threads)
            print(
                f"| {name} | {threads} | {flooded:,.1f}/s | {climbed:,.1f}/s "
                f"| {climbed / flooded:.3f} | {flooded_s:.0f} and {climbed_s:.0f} |",
                flush=True,
            )


def _timed(find_peak: FindPeak, on: Bench, case: Case, threads: int) -> tuple[float, float]:
    """The highest stable rate, and how many seconds it took."""
    began_s = time.monotonic()
    return find_peak(on, case, threads).confirmed.rate, time.monotonic() - began_s


def operator(on: Bench, folder: Path) -> None:
    """All thread counts of an operator, until the rate no longer grows; aim: 120 s."""
    for name, work in WORK.items():
        began_s = time.monotonic()
        found = profiled(on, _case(name, work, folder), Procedure(), {}, progress=note)
        peaks = [f"{row.threads}: {row.rate:,.0f}/s" for row in found.rows]
        print(f"- {name}: {time.monotonic() - began_s:.0f} s ({', '.join(peaks)})", flush=True)


def pipeline(on: Bench, folder: Path) -> None:
    """All operators of word-count, five of them; aim: 600 s."""
    began_s = time.monotonic()
    found = list(measure(on, slotwise.load("word-count"), progress=note))
    print(f"- word-count: {time.monotonic() - began_s:.0f} s, {len(found)} operators")


def _case(name: str, work: str, folder: Path) -> Case:
    file = folder / "words.jsonl"
    file.write_text("".join(json.dumps({"value": f"w{n}"}) + "\n" for n in range(100)))
    logic = Logic(expr=f"IF({work}, value, NULL)")
    return Case(Operator(name, "operator", 1.0, logic), Captured(file, "value STRING", 100))


MEASURES = (procedures, operator, pipeline)

if __name__ == "__main__":
    main()
