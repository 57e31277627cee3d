"""The second half of `make demo`: the diamond on a Spark cluster of this machine's own, first as
Spark would place its threads, then as planned, both beside the prediction.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import slotwise
from slotwise.cli.output import note, show
from slotwise.model import Observation, SlotwiseError
from slotwise.report.running import observation_report, side_by_side
from slotwise.spark.launch import Options, Run, start
from slotwise.spark.outline import outline
from slotwise.spark.session import Timeline, launched
from slotwise.spark.supervise import supervise

SPEC = Path(__file__).parent / "diamond.yaml"
WARM_UP_SECONDS, SECONDS = 12, 20


def main() -> int:
    began = time.monotonic()
    plan = slotwise.plan(SPEC)
    found = outline(plan)
    print(
        f"\n{'─' * 78}\nThe diamond on Spark: {sum(plan.threads.values())} threads in "
        f"{plan.slots} slots, {plan.rate:g} tuples/s\n",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="slotwise-demo-") as folder:
        options = Options(Path(folder) / "warm-up", batch_seconds=60)
        with launched(found, options, timeline=Timeline(tell=note)) as run:
            # Java is slow at first: neither of the two is to pay for that.
            supervise(run, WARM_UP_SECONDS)
            run.stop()
            note("as Spark places the threads …")
            by_spark, _ = measured(
                run, replace(options, checkpoint=Path(folder) / "1", placed=False)
            )
            note("as planned …")
            by_plan, levels = measured(run, replace(options, checkpoint=Path(folder) / "2"))
    exact = levels == found.layout.slots(plan.placement)
    assert plan.predicted is not None
    show(
        side_by_side([("predicted", plan.predicted), ("by Spark", by_spark), ("planned", by_plan)])
    )
    print()
    show(observation_report(plan, by_plan))
    placed = "every thread was in its slot" if exact else "some threads were not in their slot"
    print(f"\n{placed}; {time.monotonic() - began:.0f} s in all")
    return 0


def measured(warm: Run, options: Options) -> tuple[Observation, tuple[tuple[int, ...], ...]]:
    """(what was seen, the slot of every thread) of the same plan, started anew."""
    run = start(warm.spark, warm.outline, options)
    try:
        run.await_tuples()
        supervise(run, WARM_UP_SECONDS)
        run.forget()
        supervise(run, SECONDS)
        seen = run.observation()
        if seen is None:
            raise SlotwiseError("the meters did not report")
        return seen, run.whereabouts().levels
    finally:
        run.stop()


if __name__ == "__main__":
    sys.exit(main())
