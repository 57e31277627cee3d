"""The folders that sinks and dead letters write files to: whose they are, and which batches count.

A batch that is repeated writes the same names again, so every tuple is there once: as long as one
run writes there, and no file stays of a failed batch whose repetition sends that thread nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slotwise.model import SlotwiseError, Topology
from slotwise.spark import checkpoints
from slotwise.spark.query.sinks import folders

OWNER = ".slotwise-owner"
"""The file that says from which checkpoint a folder is written."""


def check(topology: Topology, output: Path | None, checkpoint: Path) -> None:
    """Refuse a folder that has files of another checkpoint; write nothing."""
    for folder in folders(topology, output):
        owner = _owner(folder)
        if not any(_batches(folder)) or _is_from(checkpoint, owner):
            continue
        before = (owner or {}).get("checkpoint")
        advice = "write to another folder, or remove it"
        if before is not None and Path(before).exists():
            advice += f", or go on from checkpoint {before}"
        raise SlotwiseError(f"{folder} has files that another run has written: {advice}")


def claim(topology: Topology, output: Path | None, checkpoint: Path) -> None:
    """Write into the folders that they are written from this checkpoint, or refuse as `check`
    does.
    """
    check(topology, output, checkpoint)
    mine = {"id": checkpoints.id_of(checkpoint), "checkpoint": str(checkpoint.resolve())}
    for folder in folders(topology, output):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / OWNER).write_text(json.dumps(mine) + "\n", encoding="utf-8")
        except OSError as error:
            raise SlotwiseError(f"cannot write to {folder}: {error.strerror}") from None


def remove_uncommitted(topology: Topology, output: Path | None, checkpoint: Path) -> None:
    """Remove the files of batches after the last one that Spark has committed: these are repeated.
    Called while the query does not run.
    """
    last = checkpoints.last_commit(checkpoint)
    for folder in folders(topology, output):
        for file, batch in _batches(folder):
            if last is None or batch > last:
                file.unlink(missing_ok=True)


def _is_from(checkpoint: Path, owner: dict[str, Any] | None) -> bool:
    """Without an owner, the files are from before folders had one, and so is the checkpoint."""
    if owner is None:
        return checkpoints.last_commit(checkpoint) is not None
    return owner.get("id") == checkpoints.id_of(checkpoint)


def _owner(folder: Path) -> dict[str, Any] | None:
    """None: it says of no one; a file that cannot be read is somebody else's."""
    try:
        found = json.loads((folder / OWNER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _batches(folder: Path) -> Iterator[tuple[Path, int]]:
    """Files with the number of their batch, those that were not finished, too: BatchFile.java."""
    for file in folder.glob("*batch-*"):
        if found := re.match(r"\.?batch-(\d+)-", file.name):
            yield file, int(found[1])
