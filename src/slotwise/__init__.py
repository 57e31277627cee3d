"""Slotwise: how many threads, on how many machines, and which thread where, on Spark.

>>> import slotwise
>>> plan = slotwise.plan("linear", rate=100, allocator="mba", placer="sam")
>>> plan.slots
7
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slotwise.comparison import Candidate
    from slotwise.model import Choice, Pipeline, Plan, Prediction, Scheduler

__version__ = "0.1.0"
__all__ = ["compare", "load", "plan", "predict"]


def load(spec: str | Path) -> Pipeline:
    """The pipeline in a spec file, or a bundled example by its name."""
    from slotwise.spec import load as load_spec

    return load_spec(spec)


def plan(
    spec: Pipeline | str | Path,
    rate: float | None = None,
    *,
    allocator: Choice | str | None = None,
    provisioner: Choice | str | None = None,
    placer: Choice | str | None = None,
) -> Plan:
    """A Plan for `rate` input tuples/s.

    What is not given comes from the spec: its goals and its scheduler section. Raises
    SlotwiseError, with one sentence that says why, when there is no plan.
    """
    from slotwise.comparison import plan_as_chosen
    from slotwise.planner import required_rate

    pipeline = _pipeline(spec)
    scheduler = _scheduler(pipeline, allocator, provisioner, placer)
    return plan_as_chosen(pipeline, required_rate(pipeline, rate), scheduler)


def compare(
    spec: Pipeline | str | Path,
    rates: Sequence[float] = (),
    *,
    allocators: Sequence[Choice | str] = (),
    placers: Sequence[Choice | str] = (),
    provisioner: Choice | str | None = None,
) -> tuple[Candidate, ...]:
    """All allocator × placer pairs at each rate; by default every pair at the spec's goal."""
    from slotwise.comparison import candidates

    pipeline = _pipeline(spec)
    return tuple(candidates(pipeline, rates, allocators, placers, provisioner))


def predict(plan: Plan, rate: float | None = None) -> Prediction:
    """What the plan does at `rate` input tuples/s; at its own rate if none is given."""
    from slotwise.predictors import predict as predict_plan

    return predict_plan(plan, rate)


def _pipeline(spec: Pipeline | str | Path) -> Pipeline:
    return load(spec) if isinstance(spec, str | Path) else spec


def _scheduler(
    pipeline: Pipeline,
    allocator: Choice | str | None,
    provisioner: Choice | str | None,
    placer: Choice | str | None,
) -> Scheduler:
    """The pipeline's scheduler, with what is given here in place of its own."""
    from slotwise import registry
    from slotwise.model import Scheduler

    own = pipeline.scheduler
    return Scheduler(
        allocator=registry.choice(allocator or own.allocator),
        provisioner=registry.choice(provisioner or own.provisioner),
        placer=registry.choice(placer or own.placer),
    )
