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
from slotwise.profilers.peaks import Staircase, saturation

WORK = {
    "computes for 5 ms": "burn_us(5000) > 0",
    "waits for 20 ms": "wait_us(20000) > 0",
    "both, 3 and 10 ms": "burn_us(3000) + wait_us(10000) > 0",
}


def main() -> None:
    chosen = [each for each in MEASURES if each.__name__ in sys.argv[1:] or not sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder, prepared(Slot(cores=1.0), note) as on:
        for measured in chosen:
            print(f"\n{measured.__doc__}\n")
            measured(on, Path(folder))


def procedures(on: Bench, folder: Path) -> None:
    """The highest stable rate of one thread, by saturation and by paper 1's staircase."""
    print("| operator | saturation | staircase | ratio | seconds |")
    print("| --- | --: | --: | --: | --: |")
    for name, work in WORK.items():
        case = _case(name, work, folder)
        rates, seconds = [], []
        for find_peak in (saturation, Staircase()):
            began_s = time.monotonic()
            rates.append(find_peak(on, case, 1).confirmed.rate)
            seconds.append(time.monotonic() - began_s)
        print(
            f"| {name} | {rates[0]:,.1f}/s | {rates[1]:,.1f}/s | {rates[1] / rates[0]:.3f} "
            f"| {seconds[0]:.0f} and {seconds[1]:.0f} |",
            flush=True,
        )


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
