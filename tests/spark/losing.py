"""An executor of a run is lost: what becomes of the run until everything is in place again."""

from __future__ import annotations

from collections.abc import Callable

from slotwise.spark import cluster
from slotwise.spark.run import Run
from tests.spark.conftest import wait_until

LIMIT_S = 150


def lose_executor(run: Run, kill: Callable[[], None]) -> None:
    """`kill` one, and let the run go on until another stands for its slot, every thread is where it
    was planned, and a batch has ended.
    """
    threads, before = run.threads_in_place(), _executors(run)
    kill()
    _advance_until(run, lambda: None not in (now := _executors(run)) and now != before)
    _advance_until(run, lambda: run.query.isActive and run.threads_in_place() == threads)
    batch = run.batch
    _advance_until(run, lambda: run.batch > batch)


def places(run: Run) -> list[tuple[int, int]]:
    """Of each task of the last batch: the slot that it is in, and its slot by the plan."""
    return [(task.slot, task.planned) for task in run.whereabouts().tasks]


def _executors(run: Run) -> list[str | None]:
    """Of each slot."""
    return [slot.executor if slot else None for slot in cluster.slots(run.spark)]


def _advance_until(run: Run, holds: Callable[[], bool]) -> None:
    def holds_now() -> bool:
        run.advance(0.5)
        return holds()

    wait_until(holds_now, LIMIT_S)
