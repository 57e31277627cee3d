"""Folders of files: whose they are, and what a failed batch has left; without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Logic, SlotwiseError, Topology
from slotwise.spark.checkpoints import NAME
from slotwise.spark.checkpoints import claim as claim_checkpoint
from slotwise.spark.outputs import OWNER, check, claim, remove_uncommitted
from slotwise.spark.query.outline import outline
from tests.spark.plans import plan, topology


def files(folder: Path, **also: Logic) -> Topology:
    kept = Logic(format="json", options=(("path", str(folder)),))
    return topology("s>a", "a>k", "a>rest", logic={"k": kept, **also})


def claimed(of: Topology, checkpoint: Path, output: Path | None = None) -> None:
    claim_checkpoint(checkpoint, outline(plan(of)))
    claim(of, output, checkpoint)


def commit(checkpoint: Path, batch: int) -> None:
    for folder in ("offsets", "commits"):
        (checkpoint / "spark" / folder).mkdir(parents=True, exist_ok=True)
        (checkpoint / "spark" / folder / str(batch)).touch()


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {OWNER}


def batch_in(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_files_of_batches_that_are_repeated_are_removed(tmp_path: Path) -> None:
    """The repetition may send a thread nothing, and so not replace its file."""
    kept, letters = tmp_path / "kept", tmp_path / "letters"
    of = replace(
        files(kept, a=Logic(expr="value", on_error="skip")),
        dead_letters=Logic(format="json", options=(("path", str(letters)),)),
    )
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out"
    claimed(of, checkpoint, out)
    commit(checkpoint, 6)
    done, repeated = "batch-000006-0001.json", "batch-000007-0001.json"
    for folder in (kept, out / "rest", letters / "a"):
        batch_in(folder, done, repeated, f".{repeated}.0a1b", "notes.txt")
    remove_uncommitted(of, out, checkpoint)
    for folder in (kept, out / "rest", letters / "a"):
        assert names(folder) == {done, "notes.txt"}


def test_without_a_commit_no_batch_counts(tmp_path: Path) -> None:
    of = files(tmp_path / "kept")
    claimed(of, tmp_path / "checkpoint")
    batch_in(tmp_path / "kept", "batch-000000-0001.json")
    remove_uncommitted(of, None, tmp_path / "checkpoint")
    assert names(tmp_path / "kept") == set()


def test_another_checkpoints_files_are_not_overwritten(tmp_path: Path) -> None:
    of, kept = files(tmp_path / "kept"), tmp_path / "kept"
    claimed(of, tmp_path / "old")
    batch_in(kept, "batch-000000-0001.json")
    sentence = (
        f"{kept} has files that another run has written: write to another folder, or remove it, "
        f"or go on from checkpoint {tmp_path / 'old'}"
    )
    with pytest.raises(SlotwiseError) as refused:
        check(of, None, tmp_path / "new")
    assert str(refused.value) == sentence
    with pytest.raises(SlotwiseError, match="has files that another run has written"):
        claimed(of, tmp_path / "new")
    assert names(kept) == {"batch-000000-0001.json"}
    claimed(of, tmp_path / "old")
    # In the place of the old one is another checkpoint now.
    (tmp_path / "old" / NAME).unlink()
    with pytest.raises(SlotwiseError, match="has files that another run has written"):
        claimed(of, tmp_path / "old")


def test_a_folder_without_batches_is_anybodys(tmp_path: Path) -> None:
    of = files(tmp_path / "kept")
    claimed(of, tmp_path / "old")
    batch_in(tmp_path / "kept", "notes.txt")
    claimed(of, tmp_path / "new")


def test_an_owner_that_cannot_be_read_is_somebody_else(tmp_path: Path) -> None:
    of = files(tmp_path / "kept")
    batch_in(tmp_path / "kept", "batch-000000-0001.json")
    (tmp_path / "kept" / OWNER).write_text("[")
    with pytest.raises(SlotwiseError, match=r"another folder, or remove it$"):
        claimed(of, tmp_path / "checkpoint")


def test_files_from_before_folders_had_an_owner_are_the_checkpoints(tmp_path: Path) -> None:
    of, checkpoint = files(tmp_path / "kept"), tmp_path / "checkpoint"
    batch_in(tmp_path / "kept", "batch-000000-0001.json")
    with pytest.raises(SlotwiseError, match="has files that another run has written"):
        claimed(of, checkpoint)
    commit(checkpoint, 0)
    claimed(of, checkpoint)
    assert names(tmp_path / "kept") == {"batch-000000-0001.json"}
