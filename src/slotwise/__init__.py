"""Slotwise: how many threads, on how many machines, and which thread where, on Spark.

>>> import slotwise
>>> plan = slotwise.plan("linear", rate=100, allocator="mba", placer="sam")
>>> plan.slots
7
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotwise.comparison import Candidate
    from slotwise.flow import Flow
    from slotwise.model import Choice, Observation, Pipeline, Plan, Prediction, Scheduler

__version__ = "0.1.0"
__all__ = ["Flow", "compare", "load", "plan", "predict", "run", "simulate"]


def __getattr__(name: str) -> Any:
    """`Flow`, which is imported when it is asked for: the model takes time to import."""
    if name == "Flow":
        from slotwise.flow import Flow

        return Flow
    raise AttributeError(f"module 'slotwise' has no attribute '{name}'")


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
    current: Plan | None = None,
    measured: Observation | None = None,
) -> Plan:
    """A Plan for `rate` input tuples/s, which is then its goal in place of the spec's.

    What is not given comes from the spec: its goals and its scheduler section. What is not named
    there either is searched: the plan is then the cheapest found that meets the goals, or the one
    that comes nearest. Raises SlotwiseError, with one sentence that says why, when there is none.

    To plan again what already runs, give the plan in effect (`current`) and an Observation of it
    (`measured`); the placer `traffic` uses both.
    """
    from slotwise.planner import Request, asking_for, plan_as_chosen

    pipeline, rate = asking_for(_pipeline(spec), rate)
    scheduler = _scheduler(pipeline, allocator, provisioner, placer)
    return plan_as_chosen(Request(pipeline, rate, scheduler, current, measured))


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
    from slotwise.prediction import predict as predict_plan

    return predict_plan(plan, rate)


def simulate(plan: Plan, rate: float | None = None, **options: Any) -> Observation:
    """What the plan would do at `rate` input tuples/s; at its own rate if none is given.

    Options are those of `slotwise.simulation.simulate`: arrivals, service, keys, buffers, …
    """
    from slotwise.simulation import simulate as simulate_plan

    return simulate_plan(plan, rate, **options)


def run(
    spec: Plan | Pipeline | str | Path,
    seconds: float = 60.0,
    rate: float | None = None,
    scale: float | None = None,
) -> Observation:
    """What a plan does on a Spark cluster of this machine, in its last `seconds`.

    The cluster is started before, and ended after. A spec is planned first: for `scale` times its
    rate, on as much of its cluster; without `scale` and `rate`, for as much as this machine can
    hold. For another master, a checkpoint or output files see `slotwise.spark.start_up.launched`.
    """
    from slotwise.model import Plan, SlotwiseError
    from slotwise.spark.run_summary import measured

    if isinstance(spec, Plan):
        if scale is not None:
            raise SlotwiseError("a plan cannot be scaled: give the spec, or plan at a lower rate")
        return measured(spec, seconds, rate)
    from slotwise.spark.cluster import Site
    from slotwise.spark.scaling import plan_for

    return measured(plan_for(_pipeline(spec), rate, scale, Site(), plan).plan, seconds)


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
