"""`slotwise plan`: one plan, for people or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from slotwise.cli.output import deliver, note, note_verdicts
from slotwise.cli.parameters import Json, Rate, Spec
from slotwise.cli.showing import Report, check_report, write_plan_report

Allocator = Annotated[str | None, Parameter(help="The allocator. Default: the spec's, or auto.")]
Provisioner = Annotated[
    str | None, Parameter(help="The provisioner. Default: the spec's, or auto.")
]
Placer = Annotated[str | None, Parameter(help="The placer. Default: the spec's, or auto.")]
Output = Annotated[Path | None, Parameter(help="Also write the plan as JSON to this file.")]


def plan(
    spec: Spec,
    /,
    *,
    rate: Rate = None,
    allocator: Allocator = None,
    provisioner: Provisioner = None,
    placer: Placer = None,
    json: Json = False,
    output: Output = None,
    report: Report = None,
) -> int:
    """Make one plan and show it."""
    import slotwise
    from slotwise.report.plan import plan_report
    from slotwise.spec.plan_json import plan_to_json

    check_report(report)
    made = slotwise.plan(spec, rate, allocator=allocator, provisioner=provisioner, placer=placer)
    deliver(lambda: plan_to_json(made), lambda: plan_report(made), json=json, output=output)
    if report is not None:
        write_plan_report(made, None, report)
    for warning in made.warnings:
        note(f"warning: {warning}")
    return note_verdicts(made.judged())
