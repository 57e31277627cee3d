"""Supervision: a run goes on by itself as long as it makes progress between two failures."""

from __future__ import annotations

import time
from collections.abc import Callable

from slotwise.model import SlotwiseError
from slotwise.spark.cluster import slots
from slotwise.spark.launch import Run

TICK_SECONDS = 1.0
TRIES = 3
ROOM_SECONDS, POLL_SECONDS = 20.0, 0.1
"""A worker starts a new executor for a dead one; a restart waits this long for it, if it must."""


def supervise(
    run: Run,
    seconds: float,
    each_tick: Callable[[Run], None] = lambda run: None,
    *,
    tries: int = TRIES,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Let the run go on for so long, or until `is_over`, reading its meters each second.

    A query that fails is started again from its checkpoint, with every thread in its slot's
    executor of that moment. After `tries` failures without a finished batch between them, raises
    SlotwiseError with the last reason.
    """
    end = time.monotonic() + seconds
    failures, batches = 0, run.batch
    while (left := end - time.monotonic()) > 0 and not is_over():
        time.sleep(min(TICK_SECONDS, left))
        if run.query.isActive:
            run.tick()
            each_tick(run)
            continue
        if run.batch > batches:
            failures = 0
        failures, batches = failures + 1, run.batch
        recover(run, failures, tries)


def recover(run: Run, failures: int, tries: int) -> None:
    """Start a failed query again, unless it has failed too often."""
    told = run.failure
    if failures > tries:
        raise SlotwiseError(
            f"the query of '{run.name}' failed {failures} times without progress: {told}"
        )
    began = time.monotonic()
    _await_room(run)
    run.restart()
    run.await_tuples()
    run.events.append(
        f"the query failed ({told}) and went on from its checkpoint "
        f"{time.monotonic() - began:.1f} s later"
    )


def _await_room(run: Run) -> None:
    """Until the living executors have room for all threads."""
    threads = run.plan.allocation.total_threads
    per_slot = int(run.spark.conf.get("spark.executor.cores") or 1)
    end = time.monotonic() + ROOM_SECONDS
    while time.monotonic() < end:
        living = sum(executor is not None for executor in slots(run.spark))
        if living * per_slot >= threads:
            return
        time.sleep(POLL_SECONDS)
