"""The page's data: one document per run, from the file of runs or from a plan alone.

docs/reference/page.md has the names. Plans are as in `plan --json`, observations as in
`observation_data`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from slotwise.model import Observation, Plan
from slotwise.runs.points import FIGURES
from slotwise.runs.reading import KeptRun, Runs

VERSION = 1
JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class Control:
    """What the control file says, and what it has not said yet."""

    hold: bool
    forbid: tuple[str, ...]
    recommended: int | None
    """The number of the plan that was last recommended and not applied."""
    pending: str | None
    """The id of a forced change that the run has not acted upon."""
    problem: str
    """Why the file cannot be read."""


@dataclass(frozen=True)
class Choices:
    """What can be chosen in a what-if."""

    allocators: tuple[str, ...]
    placers: tuple[str, ...]
    rate: float
    machines: int | None
    can_apply: bool


@dataclass(frozen=True)
class Document:
    """All that the page shows of a run, but for its history."""

    version: int
    kind: Literal["run", "plan"]
    run: JsonObject
    plans: Mapping[str, JsonObject]
    plan: int
    observation: JsonObject | None
    verdicts: tuple[JsonObject, ...]
    places: tuple[JsonObject, ...]
    decisions: Sequence[JsonObject]
    step: JsonObject | None
    marks: Sequence[JsonObject]
    control: Control | None
    choices: Choices | None
    at_s: float | None
    """The second of the run's clock that `observation` is from."""
    cursor: str | None
    """From here on the stream of events goes on; None: there is none."""


def run_data(run: KeptRun) -> dict[str, Any]:
    """A run in a list of runs."""
    return {
        "id": str(run.id),
        "topology": run.topology,
        "origin": run.origin,
        "controller": run.controller,
        "started": run.started,
        "ended": run.ended,
        "state": run.state,
        "why": run.why,
    }


def run_document(
    runs: Runs, name: str | int, at_s: float | None = None, whole: bool = False
) -> Document:
    """The run as it is now, or as it was at a second of its clock. Raises SlotwiseError.

    Plans that were left long ago are there in short, unless the `whole` is wanted: each may be some
    hundred kilobytes.
    """
    run = runs.run(name)
    seen = runs.seen(run.id, at_s)
    plan = run.plan if seen is None or at_s is None else seen.plan
    plans = runs.plans(run.id) if whole else runs.plans_in_short(run.id)
    for number in {run.plan, plan, run.recommended or plan}:
        plans[number] = runs.plan(run.id, number)
    head = {key: run.head[key] for key in ("goals", "rules", "rate", "slotwise")}
    observation = None if seen is None else seen.observation
    return Document(
        version=VERSION,
        kind="run",
        run=run_data(run) | head,
        plans={str(number): data for number, data in plans.items()},
        plan=plan,
        observation=observation,
        verdicts=() if seen is None else seen.verdicts,
        places=places(plans[plan], observation),
        decisions=runs.decisions(run.id),
        step=run.step,
        marks=runs.marks(run.id),
        control=control_of(run),
        choices=choices(run, plans[run.plan]),
        at_s=None if seen is None else seen.at_s,
        cursor=str(run.version),
    )


def plan_document(plan: Plan, seen: Observation | None = None) -> Document:
    """A plan that does not run, perhaps with what a simulation has shown."""
    from slotwise.spec.exact_json import exact_data
    from slotwise.spec.observation_json import observation_data, verdicts_data
    from slotwise.spec.plan_json import plan_to_json

    head = {
        "topology": plan.pipeline.topology.name,
        "goals": exact_data(plan.pipeline.goals),
        "rate": plan.rate,
    }
    return Document(
        version=VERSION,
        kind="plan",
        run=head,
        plans={"1": json.loads(plan_to_json(plan))},
        plan=1,
        observation=None if seen is None else observation_data(seen),
        verdicts=tuple(verdicts_data(plan.judged(seen))),
        places=(),
        decisions=(),
        step=None,
        marks=(),
        control=None,
        choices=None,
        at_s=None,
        cursor=None,
    )


def history_data(
    runs: Runs,
    name: str | int,
    since_s: float = 0.0,
    until_s: float = float("inf"),
    points: int = 600,
    with_slots: bool = True,
) -> dict[str, Any]:
    """Figures over time, as columns. Raises SlotwiseError."""
    run = runs.run(name)
    found = runs.history(run.id, (since_s, until_s), points, with_slots)
    names = runs.slot_names(run.id) if with_slots else {}
    columns: dict[str, Any] = {
        name: [point[name] for point in found] for name in ("at_s", "width_s", "plan", *FIGURES)
    }
    return columns | {"slot_cpu": _slot_columns(found, names)}


def point_data(point: JsonObject, names: Sequence[str]) -> dict[str, Any]:
    """A point of the history by itself."""
    return {**point, "slot_cpu": dict(zip(names, point["slot_cpu"], strict=False))}


def _slot_columns(
    found: Sequence[JsonObject], names: Mapping[int, Sequence[str]]
) -> dict[str, list[float | None]]:
    """Per slot of any plan; null while it was not there."""
    columns: dict[str, list[float | None]] = {}
    for position, point in enumerate(found):
        for name, cpu in zip(names.get(point["plan"], ()), point["slot_cpu"], strict=False):
            column = columns.setdefault(name, [None] * len(found))
            column[position] = cpu
    return columns


def places(plan: JsonObject, observation: JsonObject | None) -> tuple[JsonObject, ...]:
    """The threads that were seen in another slot than the plan has them in."""
    if observation is None:
        return ()
    planned = {
        (entry["operator"], entry["thread"]): f"{entry['node']}/{entry['slot']}"
        for entry in plan["placement"]
    }
    return tuple(
        {
            "operator": load["operator"],
            "thread": load["thread"],
            "slot": load["slot"],
            "planned": slot,
        }
        for load in observation.get("threads", ())
        if (slot := planned.get((load["operator"], load["thread"]))) not in (None, load["slot"])
    )


def control_file(run: KeptRun) -> Path | None:
    """Of a run that goes on under a controller."""
    path = run.head.get("control")
    return Path(path) if path and run.state == "running" else None


def control_of(run: KeptRun) -> Control | None:
    from slotwise.control_file import Control as Said
    from slotwise.control_file import read_control
    from slotwise.model import SlotwiseError

    path = control_file(run)
    if path is None:
        return None
    problem = ""
    try:
        said = read_control(path)
    except SlotwiseError as error:
        said, problem = Said(hold=True), str(error)
    waits = said.force is not None and said.force.id not in run.forced
    return Control(
        hold=said.hold,
        forbid=tuple(sorted(said.forbid)),
        recommended=run.recommended,
        pending=said.force.id if said.force is not None and waits else None,
        problem=problem,
    )


def choices(run: KeptRun, plan: JsonObject) -> Choices:
    from slotwise import registry

    return Choices(
        allocators=(registry.AUTO, *registry.names("allocator")),
        placers=tuple(dict.fromkeys((registry.AUTO, *registry.names("placer")))),
        rate=plan["rate"],
        machines=len(plan["nodes"]),
        can_apply=control_file(run) is not None,
    )
