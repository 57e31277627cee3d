"""Waiting for a run: for tuples at its sinks, the end of a batch, the end of a backlog.

Every wait reads the meters, ends when the query fails or the run is to end, and has a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from slotwise.clock import await_condition
from slotwise.model import SlotwiseError

if TYPE_CHECKING:
    from slotwise.spark.run import Run

FIRST_TUPLE_S = 60.0
"""A query that delivers no tuple hangs if this long no other of its threads has begun, either.
Where several runs start on few cores, Java alone takes a minute until the first one arrives."""
CATCH_UP_S = 30.0
IN_PACE_MS = 500.0
"""A query that is no later than this keeps pace with its sources."""
LATEST_S = 3.0


class QueryFailed(SlotwiseError):
    """While somebody waited for it."""


def await_tuples(run: Run, more: int = 1, timeout_s: float = FIRST_TUPLE_S) -> None:
    """Until so many more tuples have arrived at sinks, or there is nothing to read. Raises
    SlotwiseError if neither is so.
    """
    enough = run.delivered() + more

    def delivered() -> bool:
        return run.delivered() >= enough or run.is_idle

    _await_delivery(run, delivered, timeout_s)


def has_resumed(run: Run) -> bool:
    """Whether a tuple arrives at a sink before the query fails, or there is nothing to read;
    SlotwiseError if it hangs.
    """
    enough = run.delivered() + 1

    def resumed_or_failed() -> bool:
        resumed = run.delivered() >= enough or (run.query.isActive and run.is_idle)
        return resumed or not run.query.isActive or run.is_over()

    _await_delivery(run, resumed_or_failed, FIRST_TUPLE_S)
    return run.query.isActive


def _await_delivery(run: Run, holds: Callable[[], bool], timeout_s: float) -> None:
    """Until `holds`, while threads of the query begin: at most `timeout_s` after the last. As long
    as no broker answers for one of its topics, the query waits for that, and does not hang.
    """
    begun, since_s, has_held = run.begun(), run.clock.now_s(), False

    def holds_or_hangs() -> bool:
        nonlocal begun, since_s, has_held
        if (now := run.begun()) != begun or run.lacks_broker:
            begun, since_s = now, run.clock.now_s()
        has_held = holds()  # once: whether a query of micro-batches is idle changes all the time
        return has_held or run.clock.now_s() - since_s >= timeout_s

    holds_within(run, holds_or_hangs, math.inf)
    if not has_held:
        raise SlotwiseError(f"the query of '{run.name}' has delivered no tuple for {timeout_s:g} s")


def await_batch(run: Run, timeout_s: float | None = None) -> int:
    """Until the batch that runs now has ended; the number of the next one."""
    before = run.batch
    limit_s = 3 * run.options.batch_seconds + 30 if timeout_s is None else timeout_s
    await_run(run, lambda: run.batch > before, "finished no batch", limit_s)
    return run.batch


def await_run(run: Run, holds: Callable[[], bool], what: str, timeout_s: float) -> None:
    """Until `holds`. Raises SlotwiseError if that takes longer: the query "has {what}"; and as
    `holds_within` does.
    """
    if not holds_within(run, holds, timeout_s):
        raise SlotwiseError(f"the query of '{run.name}' has {what} for {timeout_s:g} s")


def holds_within(run: Run, holds: Callable[[], bool], timeout_s: float) -> bool:
    """Wait until `holds`; False if that takes longer. Raises QueryFailed if the query fails, and
    SlotwiseError if the run is to end.
    """

    def holds_or_fails() -> bool:
        run.tick()
        if holds():
            return True
        if run.is_over():
            raise SlotwiseError(f"the run of '{run.name}' was ended")
        if not run.query.isActive:
            raise QueryFailed(f"the query of '{run.name}' failed: {run.failure}")
        return False

    return await_condition(holds_or_fails, timeout_s, run.clock)


def await_pace(run: Run, timeout_s: float = CATCH_UP_S) -> bool:
    """Until tuples arrive at sinks soon after they were due; False if that takes longer, or if the
    query fails.
    """

    def in_pace_or_failed() -> bool:
        run.tick()
        return not run.query.isActive or _is_in_pace(run)

    return await_condition(in_pace_or_failed, timeout_s, run.clock) and run.query.isActive


def work_off_backlog(run: Run, timeout_s: float = CATCH_UP_S) -> None:
    """Until what came due before the query ran has been processed; what is left after `timeout_s`
    becomes an event of the run, and the run goes on.
    """
    if not await_pace(run, timeout_s):
        run.events.append(f"{_left(run)} not worked off in {timeout_s:g} s")


def _is_in_pace(run: Run) -> bool:
    """Tuples are hardly late, or not later than slow operators explain, which makes a run stable.

    With micro-batches a tuple waits for the batch before its own, and for its own.
    """
    late_ms = _median_ms(run)
    if late_ms is None:
        return run.is_idle
    if late_ms < IN_PACE_MS:
        return True
    if run.outline.mode == "micro-batch":
        return late_ms < IN_PACE_MS + 2 * _batch_ms(run)
    seen = run.observation(LATEST_S)
    return seen is not None and seen.stable is True


def _batch_ms(run: Run) -> float:
    """How long a batch takes: the shorter of the last two. A first one takes long, and the next one
    as well, with what came due meanwhile. 0 until two have ended.
    """
    last = [progress.batchDuration for progress in run.query.recentProgress[-2:]]
    return float(min(last)) if len(last) == 2 else 0.0


def _left(run: Run) -> str:
    """By Little's law, the tuples that are due and have not arrived at a sink: rate × latency.

    More than an Observation's `backlog`, which leaves out what is already in the query.
    """
    late_ms = _median_ms(run)
    if late_ms is None:
        return "what came due during the start-up was"
    shares = sum(source.share for source in run.plan.pipeline.topology.sources)
    left = run.rate * shares * late_ms / 1000
    return f"about {left:,.0f} tuples that came due during the start-up were"


def _median_ms(run: Run) -> float | None:
    """How late the tuples were that arrived at sinks in the last seconds; None: there were none."""
    seen = run.observation(LATEST_S)
    return None if seen is None else seen.latency_p50_ms
