"""A grid of simulations: points in, one table out, the same whoever runs them.

A point is a planning question and the options of its simulation. It has a key, a hash of all that
goes into it, so that what is in the journal needs not be run again. `row_of(point)` depends on
nothing else, so neither the order nor the machine changes a number.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from slotwise import __version__
from slotwise.json_data import json_data
from slotwise.model import Observation, Pipeline, Plan, SlotwiseError, missed
from slotwise.parts import Row
from slotwise.planner import Request, plan_as_chosen
from slotwise.simulation.observe import observed
from slotwise.simulation.options import Options
from slotwise.simulation.run import run

COLUMNS: Mapping[str, type] = {
    "cluster": str,
    "rate": float,
    "allocator": str,
    "placer": str,
    "seed": int,
    "slots": int,
    "machines": int,
    "cost_per_hour": float,
    "predicted_capacity": float,
    "predicted_latency_ms": float,
    "predicted_sojourn_ms": float,
    "throughput": float,
    "latency_ms": float,
    "latency_p50_ms": float,
    "latency_p95_ms": float,
    "latency_p99_ms": float,
    "sojourn_ms": float,
    "sojourn_margin_ms": float,
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
    columns: ClassVar = COLUMNS

    @functools.cached_property
    def key(self) -> str:
        content = "\0".join((__version__, self.question.digest, repr(self.options)))
        return hashlib.sha256(content.encode()).hexdigest()

    def row(self) -> Row:
        return row_of(self)

    def __str__(self) -> str:
        scheduler = self.question.pipeline.scheduler
        where = f"{self.question.cluster}, " if self.question.cluster else ""
        return (
            f"{where}{self.question.rate:g}/s, {scheduler.allocator} + {scheduler.placer}, "
            f"seed {self.options.seed}"
        )


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
        row |= json_data(_plan_figures(plan))
        seen = observed(run(plan, None, point.options))
        return {**row, **json_data(_seen_figures(plan, seen))}
    except SlotwiseError as error:
        return row | {"refused": str(error)}


@functools.lru_cache(maxsize=1)
def _plan(question: Question) -> Plan:
    """Points that differ in their seed only come one after another: plan once for them."""
    pipeline = question.pipeline
    return plan_as_chosen(Request(pipeline, question.rate, pipeline.scheduler))


def _plan_figures(plan: Plan) -> Row:
    predicted = plan.predicted
    assert predicted is not None
    return {
        "slots": plan.slots,
        "machines": plan.machines,
        "cost_per_hour": float(plan.cost_per_hour),
        "predicted_capacity": predicted.capacity,
        "predicted_latency_ms": predicted.latency_ms,
        "predicted_sojourn_ms": predicted.sojourn_ms,
    }


def _seen_figures(plan: Plan, seen: Observation) -> Row:
    return {
        "throughput": seen.throughput,
        "latency_ms": seen.latency_ms,
        "latency_p50_ms": seen.latency_p50_ms,
        "latency_p95_ms": seen.latency_p95_ms,
        "latency_p99_ms": seen.latency_p99_ms,
        "sojourn_ms": seen.sojourn_ms,
        "sojourn_margin_ms": seen.sojourn_margin_ms,
        "network_ms": seen.network_ms,
        "inter_node_traffic": seen.inter_node_traffic,
        "stable": bool(seen.stable),
        "bottleneck": seen.bottleneck,
        "missed_goals": "; ".join(goal.reason for goal in missed(plan.judged(seen))) or None,
    }
