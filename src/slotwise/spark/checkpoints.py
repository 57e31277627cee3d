"""Whose checkpoint it is: a query goes on only where it stopped itself."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from slotwise.model import SlotwiseError
from slotwise.spark.outline import Outline
from slotwise.spec.build import document_of

NAME = "slotwise.json"


def claim(checkpoint: Path, outline: Outline) -> None:
    """Write into `checkpoint` which topology it is of, or refuse if it is another one's."""
    if check(checkpoint, outline):
        return
    file = checkpoint / NAME
    try:
        checkpoint.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(_identity(outline), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise SlotwiseError(f"checkpoint {checkpoint}: {error.strerror}") from None


def check(checkpoint: Path, outline: Outline) -> bool:
    """Refuse a checkpoint that is another topology's; write nothing. True if the topology has been
    started there before, so that Spark has accepted it.

    The threads, their places and the rate may change from one start to the next; what is computed
    and how it flows may not. The threads of an aggregate are what its state is divided by.
    """
    mine, file = _identity(outline), checkpoint / NAME
    try:
        if not file.exists():
            if checkpoint.exists() and any(checkpoint.iterdir()):
                raise SlotwiseError(f"{checkpoint} is not empty and no checkpoint of slotwise")
            return False
        theirs = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SlotwiseError(f"checkpoint {checkpoint}: {error.strerror}") from None
    except ValueError:
        raise SlotwiseError(f"{checkpoint / NAME} is damaged: give another checkpoint") from None
    if theirs.get("logic") != mine["logic"] or theirs.get("engine") != mine["engine"]:
        raise SlotwiseError(
            f"checkpoint {checkpoint} belongs to another topology, '{theirs.get('topology')}', or "
            f"to another version of '{mine['topology']}': give another checkpoint, or remove it"
        )
    return True


def state_threads(checkpoint: Path) -> int | None:
    """How many threads the aggregate had that the checkpoint keeps the state of."""
    file = checkpoint / NAME
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    threads = found.get("aggregate_threads")
    return None if threads is None else int(threads)


def _identity(outline: Outline) -> dict[str, str | int | None]:
    topology = document_of(outline.plan.pipeline).topology.model_dump_json(exclude={"workers"})
    functions = [(i, function.name) for i, function in sorted(outline.functions.items())]
    text = f"{topology} {functions}"
    aggregate = outline.layout.aggregate
    return {
        "topology": outline.layout.topology.name,
        "engine": outline.mode,
        "logic": hashlib.sha256(text.encode()).hexdigest(),
        "aggregate_threads": None if aggregate is None else outline.layout.threads[aggregate],
    }
