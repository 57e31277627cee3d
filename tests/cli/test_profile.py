"""`slotwise profile`: what is refused before anything starts, and profiles from a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.cli import DONE, ERROR, INTERRUPTED, run
from slotwise.cli.profile import Made
from slotwise.profilers import experiment
from slotwise.spark.cluster import quotas
from tests.profilers.made import PROFILED

SPEC = """
topology:
  name: words
  operators:
    lines: {kind: source}
    upper: {expr: upper(value)}
    empty: {}
    sink: {kind: sink}
  streams:
    - {from: lines, to: upper}
    - {from: upper, to: empty}
    - {from: empty, to: sink}
profiles:
  lines: {fixed: {}}
  upper: {service: {rate: 10}}
  empty: {service: {rate: 10}}
  sink: {fixed: {}}
cluster: [{name: n, slots: 1, memory_gb: 1}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.yaml").write_text(SPEC)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "there is nothing to measure: give a spec, or --platform"),
        (["--from-run", "run.json"], "there is nothing to measure"),
        (["words.yaml", "uper"], "there is no operator 'uper': did you mean 'upper'?"),
        (["words.yaml"], "operator 'empty' has no logic to measure"),
        (["words.yaml", "upper", "--rate-step", "5"], "--rate-step needs --procedure staircase"),
        (["words.yaml", "upper", "--max-threads", "999"], "--max-threads must be at most 256"),
        (["words.yaml", "upper", "--cores", "0"], "--cores must be greater than 0"),
        (["words.yaml", "upper", "--slot-memory-mb", "9"], "--slot-memory-mb must be at least"),
        (["words.yaml", "--from-run", "words.yaml"], "is not JSON"),
        (["word-count", "--in-place"], "--in-place needs a spec file"),
    ],
)
def test_bad_input_starts_nothing(
    folder: Path, arguments: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", *arguments]) == ERROR
    assert sentence in capfd.readouterr().err
    assert [file.name for file in folder.iterdir()] == ["words.yaml"]


def test_in_place_keeps_what_was_edited_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measuring takes minutes."""
    file = folder / "words.yaml"

    def measure(made: Made, *_: object, **__: object) -> None:
        made.profiled.append(replace(PROFILED, operator="upper"))
        file.write_text(f"# Edited.\n{SPEC}")

    monkeypatch.setattr(Made, "measure", measure)
    assert run(["profile", "words.yaml", "upper", "--in-place"]) == DONE
    assert file.read_text().startswith("# Edited.\n")
    assert "  upper:\n    threads:" in file.read_text()


def test_a_spec_stays_as_it_is_if_nothing_was_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def measure(made: Made, *_: object, **__: object) -> None:
        made.status = ERROR

    before = (folder / "words.yaml").stat()
    monkeypatch.setattr(Made, "measure", measure)
    assert run(["profile", "words.yaml", "upper", "--in-place"]) == ERROR
    after = (folder / "words.yaml").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert "wrote" not in capfd.readouterr().err


def test_an_interrupted_platform_is_measured_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The sentence says so, and what is kept of operators."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "prepared", interrupt)
    assert run(["profile", "--platform"]) == INTERRUPTED
    assert "the platform's costs come from all trials together" in capfd.readouterr().err
    assert run(["profile", "words.yaml", "upper"]) == INTERRUPTED
    assert "run the same command again to go on" in capfd.readouterr().err


def test_without_permission_for_quotas_it_says_how_to_proceed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise quotas.NotPermitted("cannot set a CPU quota per slot: /x is not writable")

    monkeypatch.setattr(quotas, "quota", refuse)
    assert run(["profile", "words.yaml", "upper"]) == ERROR
    assert "measure with --no-quota" in capfd.readouterr().err
