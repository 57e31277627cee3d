"""Where the control file of a run is, unless it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotwise.control_file import control_of


def test_each_checkpoint_of_a_folder_has_its_own(tmp_path: Path) -> None:
    assert control_of(tmp_path / "one") == tmp_path / "one.control.json"
    assert control_of(tmp_path / "two") == tmp_path / "two.control.json"


def test_the_folder_of_this_moment_may_be_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert control_of(Path()) == tmp_path / "here.control.json"
