"""A running query goes on as a new plan says: at its next batch, or by a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slotwise.model import Change, Plan, SlotwiseError, Stream
from slotwise.spark import checkpoints
from slotwise.spark.cluster import pinning
from slotwise.spark.metering import meters
from slotwise.spark.query.levels import layout
from slotwise.spark.query.outline import Outline, outline
from slotwise.spark.waiting import FIRST_TUPLE_S, await_batch, await_run, await_tuples

if TYPE_CHECKING:
    from slotwise.spark.run import Run


def change(run: Run, plan: Plan) -> Change:
    """Go on as `plan` says, and return when it is in effect.

    A new placement is in effect from the next batch on, and so are more or fewer threads of an
    aggregate, whose key groups move. Other numbers of threads, or routes that depend on places,
    take a restart from the checkpoint between two batches; what Spark refuses is refused before the
    query stops. What was measured before is left out of all that is observed
    from then on. Raises SlotwiseError for another topology.
    """
    if run.is_over():
        raise SlotwiseError(f"the run of '{run.name}' is ending")
    new = outline(plan, run.outline.bound)
    if new.layout.topology != run.outline.layout.topology:
        raise SlotwiseError("a running query cannot change its topology: start another run")
    if needs_restart(run.plan, plan):
        return _restarted(run, new)
    return _moved(run, new)


def needs_restart(current: Plan, plan: Plan) -> bool:
    """Whether more than the slots of tasks changes: the query itself would be another one.

    The tasks of an aggregate are its key groups, however many threads have them.
    """
    if layout(plan).tasks != layout(current).tasks:
        return True
    streams = plan.pipeline.topology.streams
    if any(_routed(current, stream) != _routed(plan, stream) for stream in streams):
        return True
    return any(stream.grouping.kind == "local-or-shuffle" for stream in streams)


def _routed(plan: Plan, stream: Stream) -> tuple[str, tuple[float, ...]]:
    """How the stream's tuples choose a thread, with the weights if they go by them."""
    kind = plan.routing(stream)
    return kind, plan.weights[stream.target] if kind == "weighted" else ()


def leave_to_spark(run: Run) -> int:
    """Until the next batch, whose threads Spark places as it would without a plan; its number."""
    pinning.unplace(run.spark, run.name)
    return await_batch(run)


def _moved(run: Run, new: Outline) -> Change:
    wanted = new.layout.slots(new.plan.placement)
    pinning.place(run.spark, run.name, wanted)
    run.outline = new
    run.watch.forget()  # also if what follows fails
    batch = await_batch(run)
    at_s, pause_s = _longest_wait(run, lambda: run.whereabouts().levels == wanted)
    run.watch.forget()
    run.events.append(f"new placement from batch {batch} on, after a pause of {pause_s:.2f} s")
    return Change(at_s, "next batch", pause_s)


def _longest_wait(run: Run, holds: Callable[[], bool]) -> tuple[float, float]:
    """(when `holds`; the latency, s, of the latest tuple delivered until the first report after
    it): so long the query paused.
    """
    before = run.latencies()
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
    after = run.latencies()
    after[: len(before)] -= before
    return at_s, meters.bucket_ms(int(np.flatnonzero(after)[-1])) / 1000


def _restarted(run: Run, new: Outline) -> Change:
    checkpoints.check(run.options.checkpoint, new)
    compiled = run.compile(new)
    await_batch(run)
    began_s = run.now_s()
    run.stop()
    run.outline, run.compiled = new, compiled
    run.watch.restart(str(run.query.id))
    run.restart()
    await_tuples(run)
    at_s = run.now_s()
    run.watch.forget()
    run.events.append(f"restarted with another plan, after a pause of {at_s - began_s:.2f} s")
    return Change(at_s, "restart", at_s - began_s)
