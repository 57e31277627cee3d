"""`make demo`: what Slotwise does, on the bundled examples, as commands you can type yourself."""

from __future__ import annotations

import shlex
import sys

from slotwise.cli import DONE, GOAL_MISSED, run

STEPS = (
    (
        "Paper 1's linear dataflow at 100 tuples/s, sized from its measured models",
        "plan linear --rate 100 --allocator mba --placer sam",
    ),
    (
        "The same, as if every thread did what one thread alone does: more slots, a lower rate",
        "plan linear --rate 100 --allocator lsa --placer r-storm",
    ),
    (
        "All placers side by side, at three rates",
        "compare diamond --rates 50,100,200 --allocators lsa,mba",
    ),
    (
        "Let Slotwise choose: it tries every placer and says what it found",
        "plan star --rate 100 --placer auto",
    ),
    (
        "A dataflow with a loop, sized for a latency",
        "plan loop",
    ),
    (
        "Word count over tweets, against the goals in its spec file",
        "plan word-count",
    ),
)


def main() -> int:
    for number, (heading, command) in enumerate(STEPS, 1):
        print(f"\n{'─' * 78}\n{number}. {heading}\n\n$ slotwise {command}\n", flush=True)
        status = run(shlex.split(command))
        if status not in (DONE, GOAL_MISSED):
            return status
        if status == GOAL_MISSED:
            print("\n(exit code 99: the plan is there, but misses a goal)")
    print(f"\n{'─' * 78}\nNow your own: slotwise init, then slotwise plan slotwise.yaml")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
