"""`slotwise plan`: one plan, for people or as JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from slotwise.cli import DONE, GOAL_MISSED
from slotwise.cli.output import note, show, write_file
from slotwise.cli.parameters import Json, Rate, Spec

if TYPE_CHECKING:
    from slotwise.model import Pipeline, Plan

Algorithm = Annotated[str | None, Parameter(help="Default: the spec's.")]
Output = Annotated[Path | None, Parameter(help="Write the plan as JSON to this file as well.")]


def plan(
    spec: Spec,
    /,
    *,
    rate: Rate = None,
    allocator: Algorithm = None,
    provisioner: Algorithm = None,
    placer: Algorithm = None,
    json: Json = False,
    output: Output = None,
) -> int:
    """Make one plan and show it."""
    import slotwise
    from slotwise.spec.plan_json import plan_to_json

    pipeline = asking_for(slotwise.load(spec), rate)
    made = slotwise.plan(
        pipeline, rate, allocator=allocator, provisioner=provisioner, placer=placer
    )
    text = plan_to_json(made) if json or output else ""
    if output:
        write_file(output, text)
        note(f"wrote {output}")
    judged = made if rate is None else without_rate_goal(made)
    if json:
        print(text, end="")
    else:
        from slotwise.report.plan import plan_report

        show(plan_report(judged))
    for sentence in judged.missed_goals():
        note(f"goal missed: {sentence}")
    return GOAL_MISSED if judged.missed_goals() else DONE


def asking_for(pipeline: Pipeline, rate: float | None) -> Pipeline:
    """The rate asked for is a goal while planning, so that `auto` prefers plans that hold it."""
    if rate is None:
        return pipeline
    return replace(pipeline, goals=replace(pipeline.goals, rate=rate))


def without_rate_goal(plan: Plan) -> Plan:
    goals = replace(plan.pipeline.goals, rate=None)
    return replace(plan, pipeline=replace(plan.pipeline, goals=goals))
