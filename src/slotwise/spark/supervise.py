"""Supervision: a run goes on by itself as long as it makes progress between two failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise.clock import await_condition
from slotwise.model import Fault, SlotwiseError, counted
from slotwise.spark.cluster import slots, threads_per_slot
from slotwise.spark.waiting import has_resumed

if TYPE_CHECKING:
    from slotwise.spark.run import Run

TICK_S = 1.0
TRIES = 3
ROOM_S = 20.0
"""A worker replaces a dead executor; a restart waits this long for it, if it must."""


@dataclass
class Failures:
    """How often a query failed without a finished batch in between."""

    count: int = 0
    batch: int = 0
    """Finished batches at the last failure."""

    def add(self, batch: int) -> int:
        """One more, after `batch` finished batches; how many in a row that makes."""
        self.count = 1 if batch > self.batch else self.count + 1
        self.batch = batch
        return self.count


def supervise(run: Run, seconds: float, *, tries: int = TRIES) -> None:
    """Let the run go on for so long, or until it `is_over`, reading its meters each second.

    A query that fails is started again from its checkpoint, with every thread in its slot's
    executor of that moment. After `tries` failures without a finished batch between them, also
    over several calls, raises SlotwiseError with the last reason. It is not started while no broker
    answers for one of its sources: it would fail again.
    """

    def tick() -> bool:
        if run.query.isActive or run.lacks_broker:
            run.tick()
            run.release_late()
        elif not run.is_over():
            recover(run, tries)
        return run.is_over()

    await_condition(tick, seconds, run.clock, poll_s=TICK_S)


def recover(run: Run, tries: int = TRIES) -> None:
    """Start a failed query again, unless it has failed too often; it may fail again at once."""
    reason, count = run.failure, run.failures.add(run.batch)
    if count > tries:
        raise SlotwiseError(
            f"the query of '{run.name}' failed {counted(count, 'time')} without progress: {reason}"
        )
    began_s = run.now_s()
    _start_lost_machines(run)
    _await_room(run)
    run.restart()
    if has_resumed(run):
        run.resumed_s = run.now_s()
        after = f"resumed from its checkpoint {run.resumed_s - began_s:.1f} s later"
    else:
        after = "failed again when it was started from its checkpoint"
    run.events.append(Fault(f"the query failed ({reason}) and {after}"))


def _start_lost_machines(run: Run) -> None:
    """Their threads run elsewhere until then, and go back at the next batch."""
    if run.machines is not None:
        run.events += [
            Fault(f"node '{node.name}' was lost and is started again")
            for node in run.machines.revive()
        ]


def _await_room(run: Run) -> None:
    """Until the living executors have room for all tasks; no longer than `ROOM_S`."""
    tasks = sum(run.outline.layout.tasks)
    per_slot = threads_per_slot(run.spark)

    def has_room() -> bool:
        run.tick()
        living = sum(executor is not None for executor in slots(run.spark))
        return living * per_slot >= tasks

    await_condition(has_room, ROOM_S, run.clock)
