"""`make demo`: the diamond on a Spark cluster of this machine's own, as Spark would place its
threads and as planned, beside the prediction.

One query runs all the time; its placement changes from batch to batch, without a restart. The two
take turns, so that neither gains from coming later, when Java has compiled more of its code. The
last seconds of each batch are measured: the pause between two batches is over by then, and what
came due while an executor compiled code that was new to it is worked off.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import slotwise
from slotwise.cli.output import note, show
from slotwise.model import Observation
from slotwise.report.running import observation_report, side_by_side
from slotwise.spark.launch import Options, Run
from slotwise.spark.outline import outline
from slotwise.spark.session import Timeline, launched
from slotwise.spark.supervise import supervise

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
    timeline = Timeline(tell=note)
    with tempfile.TemporaryDirectory(prefix="slotwise-demo-") as folder:
        options = Options(Path(folder) / "checkpoint", batch_seconds=BATCH_SECONDS)
        with launched(outline(plan), options, timeline=timeline) as run:
            note(f"start-up: {timeline.seconds:.1f} s")
            columns += take_turns(run)
            where = run.whereabouts()
    print()
    show(side_by_side(columns))
    print("\nThe last batch as planned, planned beside measured:\n")
    show(observation_report(plan, columns[-1][1]))
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
    note(f"batch {run.leave_to_spark()}: as Spark places the threads, to warm up all executors …")
    for _ in range(ROUNDS):
        batch = run.leave_to_spark()
        note(f"batch {batch}: as Spark places the threads …")
        found.append(("by Spark", measured(run)))
        change = run.apply(run.plan)
        note(f"batch {change.batch}: as planned, after a pause of {change.pause_seconds:.1f} s …")
        found.append(("as planned", measured(run)))
    return found


def measured(run: Run) -> Observation:
    supervise(run, SETTLING_SECONDS)
    run.await_pace(CATCH_UP_SECONDS)
    run.watch.forget()
    supervise(run, MEASURED_SECONDS)
    seen = run.observation()
    assert seen is not None
    return seen


if __name__ == "__main__":
    sys.exit(main())
