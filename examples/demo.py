"""`make demo`: the diamond on a Spark cluster of this machine's own, as Spark would place its
threads and as planned, beside the prediction.

One query runs all the time; its placement changes from batch to batch, without a restart. The two
take turns, so that neither gains from coming later, when Java has compiled more of its code. The
last seconds of each batch are measured: the pause between two batches is over by then, and the
backlog from while an executor compiled code that was new to it is worked off.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import slotwise
from slotwise.cli.output import note, show
from slotwise.model import Observation
from slotwise.report.observation import observation_report, side_by_side
from slotwise.spark.changing import leave_to_spark
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options, Run
from slotwise.spark.start_up import Timeline, launched
from slotwise.spark.waiting import await_pace

SPEC = Path(__file__).parent / "diamond.yaml"
BATCH_SECONDS = 18.0
SETTLING_SECONDS, CATCH_UP_SECONDS, MEASURED_SECONDS = 4.0, 5.0, 8.0
ROUNDS = 2


def main() -> int:
    began = time.monotonic()
    plan = slotwise.plan(SPEC)
    heading = (
        f"{SPEC.name}: {sum(plan.threads.values())} threads in {plan.slots} slots on "
        f"{len(plan.cluster.nodes)} nodes, {plan.rate:g} tuples/s, on Spark's real-time mode"
    )
    print(f"\n{heading}\n{'─' * len(heading)}", flush=True)
    assert plan.predicted is not None
    columns: list[tuple[str, Observation]] = [("predicted", plan.predicted)]
    timeline = Timeline(report=note)
    with tempfile.TemporaryDirectory(prefix="slotwise-demo-") as folder:
        options = Options(Path(folder) / "checkpoint", batch_seconds=BATCH_SECONDS)
        with launched(outline(plan), options, timeline=timeline) as run:
            note(f"start-up: {timeline.seconds:.1f} s")
            columns += take_turns(run)
            where = run.whereabouts()
    print()
    show(side_by_side(columns))
    print("\nThe last batch as planned, planned beside measured:\n")
    show(observation_report(plan, plan.predicted, columns[-1][1]))
    placed = sum(task.slot == task.planned for task in where.tasks)
    print(
        f"\n{placed} of {len(where.tasks)} threads in their slots; {time.monotonic() - began:.0f} s"
    )
    return 0


def take_turns(run: Run) -> list[tuple[str, Observation]]:
    """A batch as Spark places the threads, a batch as planned, and again.

    One as Spark places them comes first, unmeasured: executors that the plan leaves empty are cold.
    """
    found = []
    note(f"batch {leave_to_spark(run)}: as Spark places the threads, to warm up all executors …")
    for _ in range(ROUNDS):
        note(f"batch {leave_to_spark(run)}: as Spark places the threads …")
        found.append(("by Spark", measured(run)))
        change = run.apply(run.plan)
        note(f"batch {run.batch}: as planned, after a pause of {change.pause_s:.1f} s …")
        found.append(("as planned", measured(run)))
    return found


def measured(run: Run) -> Observation:
    run.advance(SETTLING_SECONDS)
    await_pace(run, CATCH_UP_SECONDS)
    run.advance(MEASURED_SECONDS)
    return run.observe(MEASURED_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
