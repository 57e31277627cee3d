"""Whose checkpoint it is: a query goes on only from its own; and which plan was last in effect."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from slotwise.model import Logic, Operator, Plan, SlotwiseError, counted
from slotwise.model.topology import KEY_GROUPS
from slotwise.spark.query.outline import Outline
from slotwise.spec.build import document_of
from slotwise.spec.plan_json import plan_from_json, plan_to_json

NAME = "slotwise.json"
PLAN = "slotwise-plan.json"
"""Beside it: the plan in effect, and the one that the run began with before anything changed it."""
FORCED = "slotwise-forced.json"
"""Likewise: the ids of changes that a person has forced."""


def claim(checkpoint: Path, outline: Outline) -> None:
    """Write into `checkpoint` which topology it belongs to, or refuse as `check` does."""
    check(checkpoint, outline)
    found = _read(checkpoint)
    if found is not None and "id" in found:
        return
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SlotwiseError(f"checkpoint {checkpoint}: {error.strerror}") from None
    _write(checkpoint, NAME, (found or _identity(outline)) | {"id": uuid.uuid4().hex})


def check(checkpoint: Path, outline: Outline) -> None:
    """Refuse a checkpoint that the outline's query cannot go on from; write nothing.

    The threads, their places, the rate and the sinks' formats may change from one start to the
    next; what is computed and how it flows may not, nor the key groups of an aggregate: they divide
    its state, Spark 4.3 cannot divide that of a real-time aggregate again, and with micro-batches
    it is not tried.
    """
    theirs, mine = _read(checkpoint), _identity(outline)
    if theirs is None:
        return
    if (theirs.get("logic"), theirs.get("engine")) != (mine["logic"], mine["engine"]):
        raise SlotwiseError(
            f"checkpoint {checkpoint} belongs to another topology, '{theirs.get('topology')}', or "
            f"to another version of '{mine['topology']}': use another checkpoint, or remove it"
        )
    # Before there were key groups, an aggregate had a task for each of its threads.
    groups = theirs.get("key_groups", theirs.get("aggregate_threads"))
    if groups != mine["key_groups"]:
        aggregate = outline.layout.topology.operators[outline.layout.keyed[0]].name
        raise SlotwiseError(
            f"the state of aggregate '{aggregate}' in "
            f"checkpoint {checkpoint} is divided into {counted(groups or 0, 'key group')}, and "
            f"Spark cannot divide it into {mine['key_groups']}: set key_groups: {groups} in the "
            "aggregate, or use another checkpoint"
        )


def id_of(checkpoint: Path) -> str | None:
    """What tells it from another in the same place; None: it is new."""
    found = _kept(checkpoint, NAME)
    return None if found is None else found.get("id")


def last_commit(checkpoint: Path) -> int | None:
    """The number of the last batch that Spark has committed; None: there is none."""
    folder = checkpoint / "spark"
    batches = [
        int(file.name)
        for file in (folder / "commits").glob("*")
        if file.name.isdigit() and (folder / "offsets" / file.name).exists()
    ]
    return max(batches, default=None)


def keep(checkpoint: Path, planned: Plan, plan: Plan) -> None:
    """Write down that `plan` is in effect, in a run that began as `planned`, before a controller
    changed it. Raises SlotwiseError.
    """
    plan_data = json.loads(plan_to_json(plan))
    _write(checkpoint, PLAN, {"planned": _digest(planned), "plan": plan_data})


def in_effect(checkpoint: Path, planned: Plan) -> Plan | None:
    """The plan that was last in effect in a run that began as `planned`; None: the checkpoint is
    new, or its last run was planned otherwise.
    """
    found = _kept(checkpoint, PLAN) or {}
    if found.get("planned") != _digest(planned):
        return None
    try:
        return plan_from_json(json.dumps(found["plan"]))
    except SlotwiseError:
        return None  # of another version of Slotwise


def forced(checkpoint: Path) -> set[str]:
    """The ids of changes that a person has forced in runs from this checkpoint."""
    return set(_kept(checkpoint, FORCED) or ())


def add_forced(checkpoint: Path, id: str) -> None:
    """Raises SlotwiseError."""
    _write(checkpoint, FORCED, sorted({*forced(checkpoint), id}))


def _write(checkpoint: Path, name: str, data: Any) -> None:
    """Whole or not at all: the program may be killed meanwhile."""
    try:
        new = checkpoint / f"{name}.new"
        new.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        new.replace(checkpoint / name)
    except OSError as error:
        raise SlotwiseError(f"checkpoint {checkpoint}: {error.strerror}") from None


def _kept(checkpoint: Path, name: str) -> Any:
    """None where there is nothing, or nothing that can be read."""
    try:
        return json.loads((checkpoint / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _digest(plan: Plan) -> str:
    return hashlib.sha256(plan_to_json(plan).encode()).hexdigest()


def _read(checkpoint: Path) -> dict[str, Any] | None:
    """Whose checkpoint it is; None if it is new."""
    file = checkpoint / NAME
    try:
        if file.exists():
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return found
        if checkpoint.exists() and any(checkpoint.iterdir()):
            raise SlotwiseError(f"{checkpoint} is not empty and not a checkpoint of slotwise")
    except OSError as error:
        raise SlotwiseError(f"checkpoint {checkpoint}: {error.strerror}") from None
    except ValueError:
        raise SlotwiseError(f"{file} is damaged: use another checkpoint") from None
    return None


def _identity(outline: Outline) -> dict[str, str | int | None]:
    of = outline.layout.topology
    operators = tuple(replace(each, logic=_lasting(each)) for each in of.operators)
    same_groups = replace(
        outline.plan.pipeline, topology=replace(of, operators=operators, dead_letters=None)
    )
    topology = document_of(same_groups).topology.model_dump_json(
        exclude={"workers"}, exclude_defaults=True
    )
    functions = [(i, function.name) for i, function in sorted(outline.functions.items())]
    text = f"{topology} {functions}"
    return {
        "topology": of.name,
        "engine": outline.mode,
        "logic": hashlib.sha256(text.encode()).hexdigest(),
        "key_groups": outline.layout.key_groups,
    }


def _lasting(operator: Operator) -> Logic:
    """What may not change: where a sink writes may, and so may how brokers are reached, and the
    partitions of a topic.
    """
    logic = replace(operator.logic, key_groups=KEY_GROUPS, partitions=None)
    if operator.kind == "sink":
        return replace(logic, format=None, options=())
    kept = ((name, value) for name, value in logic.options if not name.startswith("kafka."))
    return replace(logic, options=tuple(kept))
