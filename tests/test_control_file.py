"""The control file: where it is, unless it is named; what several programs say is all said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.control_file import Forced, change_control, control_of, read_control
from slotwise.model import SlotwiseError

_SAYS = """
import sys
from pathlib import Path
from slotwise.control_file import Forced, change_control
path, own = Path(sys.argv[1]), sys.argv[2]
sys.stdin.readline()
for number in range(200):
    if own == "hold":
        change_control(path, hold=number % 2 == 1)
    else:
        change_control(path, force=Forced(str(number), "plan.json"))
"""


def test_what_is_not_said_stays(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    change_control(path, hold=True)
    change_control(path, forbid=frozenset({"re-plan"}))
    change_control(path, force=Forced("1", "plan.json"))
    change_control(path, hold=False)
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "hold": False,
        "forbid": ["re-plan"],
        "force": {"id": "1", "plan": "plan.json"},
    }


def test_no_wish_of_two_programs_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "control.json"
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", _SAYS, str(path), own], stdin=subprocess.PIPE, text=True
        )
        for own in ("hold", "force")
    ]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.close()
    assert [program.wait() for program in programs] == [0, 0]
    said = read_control(path)
    assert (said.hold, said.force) == (True, Forced("199", "plan.json"))
    assert [name for name in os.listdir(tmp_path) if not name.endswith(".lock")] == [path.name]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SlotwiseError, match="cannot be written"):
        change_control(tmp_path / "nowhere" / "control.json", hold=True)


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
