from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from slotwise import studies
from slotwise.cli import DONE, ERROR, USAGE, run
from slotwise.journal import Journal
from tests.studies.quick import quick


def test_writes_all_files_and_prints_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "made" / "here"
    assert run(["study", "drs", "--quick", "--output", str(target)]) == DONE
    names = {path.name for path in target.iterdir()}
    assert {"drs.json", "drs.md", "drs.html", "drs-network.png"} <= names
    assert not [name for name in names if name.startswith(".")], "temporary files are gone"
    printed = capsys.readouterr()
    assert "VLD, best division: extractor" in printed.out
    assert "drs.html" in printed.err


def test_json_alone_writes_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["study", "p-deployer", "--quick", "--json"]) == DONE
    printed = capsys.readouterr()
    assert json.loads(printed.out)["name"] == "p-deployer"
    assert printed.err == ""
    assert not list(tmp_path.iterdir())


def test_without_output_the_directory_is_named_after_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = quick("drs")
    monkeypatch.setattr(studies, "run", lambda name, effort: made)
    assert run(["study", "drs", "--quick"]) == DONE
    assert (tmp_path / "study-drs" / "drs.html").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["nothing"], ERROR, "unknown study 'nothing': expected one of model-driven, adaptive"),
        (["adaptiv"], ERROR, "did you mean 'adaptive'?"),
        ([], USAGE, "requires an argument"),
    ],
)
def test_a_bad_name_gets_one_sentence(
    arguments: list[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["study", *arguments]) == status
    assert sentence in capsys.readouterr().err


def test_a_file_in_the_way_is_told_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("mine")
    assert run(["study", "drs", "--output", str(tmp_path / "taken")]) == ERROR
    assert capsys.readouterr().err == f"slotwise: {tmp_path / 'taken'}: not a directory\n"
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_study_that_does_not_run_on_spark_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["study", "pipeline", "--on", "spark", "--output", str(tmp_path / "made")]) == 1
    assert "study 'pipeline' does not run on Spark" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_days_of_controllers_that_are_finished_are_not_simulated_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"violation_s": 5.0, "slot_hours": 2.0, "cost": 1.0, "changes": 1, "pause_s": 3.0}
    found: list[Any] = []

    def rows(parts: Sequence[Any], what: str, /) -> list[dict[str, Any]]:
        found.extend(parts)
        return [dict.fromkeys(part.columns) | figures for part in parts]

    expected = studies.run("controllers", studies.Effort(quick=True, rows=rows))
    with Journal(tmp_path / "controllers.journal", "study") as journal:
        for part, row in zip(found, rows(found, ""), strict=True):
            journal.add(part.key, row)
    assert run(["study", "controllers", "--quick", "--output", str(tmp_path)]) == DONE
    printed = capsys.readouterr()
    assert f"of {len(found) // 2} points are in" in printed.err
    assert "clairvoyant" in printed.out
    told = json.loads((tmp_path / "controllers.json").read_text())
    assert told["remarks"] == list(expected.remarks)


def test_only_a_study_in_parts_has_a_master(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "drs", "--master", "local[2]"]) == USAGE
    assert "--master is only for controllers: remove it" in capsys.readouterr().err
