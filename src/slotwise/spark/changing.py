"""A running query goes on as a new plan says: at its next batch, or by a restart.

    machines that the plan has and the run has not are added, while the query goes on
    → at the next batch threads move; or the query is started again, from its checkpoint
    → machines that the plan in effect has not are given back

What is refused, or fails before the query goes over, leaves the last plan in effect. A query that
fails while it goes over is started again as newly planned, and if that fails, too, as it was. One
that hangs then is started as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slotwise.model import Change, Plan, SlotwiseError
from slotwise.model.decision import needs_restart
from slotwise.spark import checkpoints
from slotwise.spark.cluster import pinning
from slotwise.spark.metering import meters
from slotwise.spark.metering.watch import APART_S
from slotwise.spark.query.compile import Query
from slotwise.spark.query.outline import Outline, outline
from slotwise.spark.supervise import recover
from slotwise.spark.waiting import (
    FIRST_TUPLE_S,
    QueryFailed,
    await_batch,
    await_run,
    await_tuples,
    holds_within,
)

if TYPE_CHECKING:
    from slotwise.spark.run import Run


def change(run: Run, plan: Plan) -> Change:
    """Go on as `plan` says, and return when it is in effect.

    A new placement is in effect from the next batch on, and so are more or fewer threads of an
    aggregate, whose key groups move. Other numbers of threads, or routes that depend on places,
    take a restart from the checkpoint between two batches; what Spark refuses is refused before the
    query stops. What was measured before is left out of all that is observed from then on.

    Raises SlotwiseError for another topology, for a node that does not come up, and for a query
    that fails or hangs; `run.plan` is the plan that is then in effect.
    """
    if run.is_over():
        raise SlotwiseError(f"the run of '{run.name}' is ending")
    new, before = outline(plan, run.outline.bound), (run.outline, run.compiled)
    if new.layout.topology != run.outline.layout.topology:
        raise SlotwiseError("a running query cannot change its topology: start another run")
    try:
        _add_machines(run, plan)
        if needs_restart(run.plan, plan):
            return _restarted(run, new)
        return _moved(run, new)
    except SlotwiseError as error:
        if run.outline is before[0] or run.is_over():
            raise
        if isinstance(error, QueryFailed):
            return _recovered(run, before, error)
        run.stop()  # it hangs
        raise _went_back(run, before, error) from None
    finally:
        _keep_machines(run)


def leave_to_spark(run: Run) -> int:
    """Until the next batch, whose threads Spark places as it would without a plan; its number."""
    pinning.unplace(run.spark, run.name)
    return await_batch(run)


# -- machines ---------------------------------------------------------------------------------


def _add_machines(run: Run, plan: Plan) -> None:
    if run.machines is None:
        return
    began_s = run.now_s()
    added = run.machines.add(plan.cluster, lambda holds, seconds: holds_within(run, holds, seconds))
    run.events += [
        f"node '{node.name}' was added in {run.now_s() - began_s:.1f} s" for node in added
    ]


def _keep_machines(run: Run) -> None:
    """Those of the plan in effect, whatever has happened."""
    if run.machines is not None:
        given_back = run.machines.keep(run.plan.cluster)
        run.events += [f"node '{node.name}' was given back" for node in given_back]


# -- at the next batch ------------------------------------------------------------------------


def _moved(run: Run, new: Outline) -> Change:
    wanted = new.layout.slots(new.plan.placement)
    pinning.place(run.spark, run.name, wanted, run.hosts(new.plan))
    run.outline = new
    run.watch.forget()  # also if what follows fails
    batch = await_batch(run)
    at_s, pause_s = _longest_wait(run, lambda: run.whereabouts().follow(wanted, batch))
    run.watch.forget()
    run.events.append(f"new placement from batch {batch} on")
    return Change(at_s, "next batch", pause_s)


def _longest_wait(run: Run, holds: Callable[[], bool]) -> tuple[float, float]:
    """(when `holds`; how much longer, s, than just before the change the latest tuple took that was
    delivered until the first report after it): so long the query paused. With a backlog tuples were
    late before.
    """
    usual_s, before = _latest_s(run), run.latencies()
    await_run(run, holds, "not run as newly planned", FIRST_TUPLE_S)
    at_s = run.now_s()
    await_tuples(run)
    latest = meters.snapshot(run.spark).time
    await_run(
        run,
        lambda: meters.snapshot(run.spark).time > latest + 1,
        "reported nothing",
        FIRST_TUPLE_S,
    )
    return at_s, max(0.0, _largest_s(run.latencies(), before) - usual_s)


def _latest_s(run: Run) -> float:
    """The latency, s, of the latest tuple in the last second of reports that has any; 0 where none
    was delivered since `forget`.
    """
    latencies, now = run.latencies(), meters.snapshot(run.spark).time
    for earlier in reversed(list(run.watch.history)):
        before = meters.latencies_of(earlier.threads)
        if earlier.time <= now - APART_S and before.sum() < latencies.sum():
            return _largest_s(latencies, before)
    return 0.0


def _largest_s(latencies: NDArray[np.int64], before: NDArray[np.int64]) -> float:
    """Of those that were counted since; 0 where none was."""
    arrived = np.flatnonzero(latencies > before)
    return meters.bucket_ms(int(arrived[-1])) / 1000 if len(arrived) else 0.0


# -- by a restart -----------------------------------------------------------------------------


def _restarted(run: Run, new: Outline) -> Change:
    checkpoints.check(run.options.checkpoint, new)
    compiled, before = run.compile(new), (run.outline, run.compiled)
    pinning.check(run.spark, new.layout.slots(new.plan.placement), run.hosts(new.plan))
    await_batch(run)
    began_s = run.now_s()
    run.stop()
    with run.without_quota():  # until the new executors' Java has compiled what a tuple takes
        try:
            _start_as(run, new, compiled)
        except SlotwiseError as refused:
            raise _went_back(run, before, refused) from None
        await_tuples(run)
    at_s = run.now_s()
    run.watch.forget()
    return Change(at_s, "restart", at_s - began_s)


def _start_as(run: Run, of: Outline, compiled: Query) -> None:
    """Start the stopped or failed query with these threads; what the others counted is left out."""
    run.outline, run.compiled = of, compiled
    run.watch.restart(str(run.query.id))
    run.restart()


def _recovered(run: Run, before: tuple[Outline, Query], failed: QueryFailed) -> Change:
    """The query failed while it went over: once more as newly planned, else back."""
    began_s = run.now_s()
    try:
        recover(run)
    except SlotwiseError as error:
        if run.is_over():
            raise
        run.stop()  # it hangs, or is refused
        raise _went_back(run, before, error) from None
    if not run.query.isActive:
        raise _went_back(run, before, failed)
    run.watch.forget()
    return Change(run.now_s(), "restart", run.now_s() - began_s)


def _went_back(run: Run, before: tuple[Outline, Query], error: SlotwiseError) -> SlotwiseError:
    """The last plan is in effect again; what to raise."""
    _start_as(run, *before)
    await_tuples(run)
    run.watch.forget()
    return SlotwiseError(f"{error}; the run went back to its last plan")
