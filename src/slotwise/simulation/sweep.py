"""A grid of simulations: points in, one table out, the same whoever runs them.

A point is a planning question and the options of its simulation. It has a key, a hash of all that
goes into it, so that what is in the journal needs not be run again. `row_of(point)` depends on
nothing else, so neither the order nor the machine changes a number.
"""

from __future__ import annotations

import functools
import hashlib
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

from slotwise import __version__
from slotwise.comparison import plan_as_chosen
from slotwise.model import Observation, Pipeline, Plan, SlotwiseError
from slotwise.simulation.journal import Journal
from slotwise.simulation.observe import observed
from slotwise.simulation.options import Options
from slotwise.simulation.run import run

Row = dict[str, Any]
"""One point's figures by COLUMNS; None where there are none."""

COLUMNS: dict[str, type] = {
    "cluster": str,
    "rate": float,
    "allocator": str,
    "placer": str,
    "seed": int,
    "slots": int,
    "machines": int,
    "cost_per_hour": float,
    "predicted_rate": float,
    "predicted_latency_ms": float,
    "simulated_rate": float,
    "simulated_latency_ms": float,
    "latency_margin_ms": float,
    "sink_latency_ms": float,
    "p50_ms": float,
    "p95_ms": float,
    "p99_ms": float,
    "network_ms": float,
    "inter_node_traffic": float,
    "stable": bool,
    "bottleneck": str,
    "missed_goals": str,
    "refused": str,
}


@dataclass(frozen=True)
class Question:
    """What to plan: the pipeline with its machines, scheduler, and the rate as its goal.

    Questions are equal when their digests are: a hash of the whole pipeline.
    """

    digest: str
    cluster: str | None = field(compare=False)
    """What the sweep calls its machines; None: they are the spec's own."""
    pipeline: Pipeline = field(compare=False, repr=False)

    @property
    def rate(self) -> float:
        rate = self.pipeline.goals.rate
        assert rate is not None
        return rate


@dataclass(frozen=True)
class Point:
    """One row of the table."""

    question: Question
    options: Options

    @functools.cached_property
    def key(self) -> str:
        content = "\0".join((__version__, self.question.digest, repr(self.options)))
        return hashlib.sha256(content.encode()).hexdigest()

    def __str__(self) -> str:
        scheduler = self.question.pipeline.scheduler
        where = f"{self.question.cluster}, " if self.question.cluster else ""
        return (
            f"{where}{self.question.rate:g}/s, {scheduler.allocator} + {scheduler.placer}, "
            f"seed {self.options.seed}"
        )


Runner = Callable[[Sequence[Point]], Iterator[tuple[Point, Row]]]
"""Runs points, in any order, and gives each with its row as soon as that is there."""


def finished(points: Sequence[Point], journal: Journal, runner: Runner) -> Iterator[str]:
    """Run what the journal lacks; yields the key of every point when its row is in the journal."""
    done = journal.rows()
    yield from (point.key for point in points if point.key in done)
    missing = [point for point in points if point.key not in done]
    if missing:
        for point, row in runner(missing):
            journal.add(point.key, row)
            yield point.key


def row_of(point: Point) -> Row:
    """Plan and simulate. What has no plan, or cannot be simulated, says why in `refused`."""
    scheduler = point.question.pipeline.scheduler
    row: Row = dict.fromkeys(COLUMNS) | {
        "cluster": point.question.cluster,
        "rate": point.question.rate,
        "allocator": str(scheduler.allocator),
        "placer": str(scheduler.placer),
        "seed": point.options.seed,
    }
    try:
        plan = _plan(point.question)
        row |= _plan_figures(plan)
        return row | _seen_figures(plan, observed(run(plan, None, point.options)))
    except SlotwiseError as error:
        return row | {"refused": str(error)}


@functools.lru_cache(maxsize=1)
def _plan(question: Question) -> Plan:
    """Points that differ in their seed only come one after another: plan once for them."""
    pipeline = question.pipeline
    return plan_as_chosen(pipeline, question.rate, pipeline.scheduler)


def _plan_figures(plan: Plan) -> Row:
    predicted = plan.predicted
    assert predicted is not None
    return {
        "slots": plan.slots,
        "machines": plan.machines,
        "cost_per_hour": float(plan.cost_per_hour),
        "predicted_rate": _finite(predicted.rate),
        "predicted_latency_ms": _finite(predicted.latency_ms),
    }


def _seen_figures(plan: Plan, seen: Observation) -> Row:
    quantiles = dict(seen.latency_quantiles)
    return {
        "simulated_rate": _finite(seen.rate),
        "simulated_latency_ms": _finite(seen.latency_ms),
        "latency_margin_ms": _finite(seen.latency_margin_ms),
        "sink_latency_ms": _finite(seen.sink_latency_ms),
        "p50_ms": _finite(quantiles.get(0.5)),
        "p95_ms": _finite(quantiles.get(0.95)),
        "p99_ms": _finite(quantiles.get(0.99)),
        "network_ms": _finite(seen.network_ms),
        "inter_node_traffic": _finite(seen.inter_node_traffic),
        "stable": bool(seen.stable),
        "bottleneck": seen.bottleneck,
        "missed_goals": "; ".join(plan.missed_goals(seen)) or None,
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: None stands for it."""
    return None if value is None or not math.isfinite(value) else float(value)


def run_in_processes(points: Sequence[Point]) -> Iterator[tuple[Point, Row]]:
    """As many processes as there are cores. They end with this one, however it ends."""
    workers = min(len(points), os.cpu_count() or 1)
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent
    )
    try:
        running = {pool.submit(row_of, point): point for point in points}
        for future in as_completed(running):
            yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise SlotwiseError(
            "a process of the sweep was killed (out of memory?): what is finished is kept, "
            "run the same command again"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Ctrl-C ends a worker without a word; a parent that is gone does not leave it waiting."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
