"""`slotwise profile`: what is refused before anything starts, and profiles from a run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.cli import ERROR, run
from slotwise.spark.cluster import quotas

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


def test_without_permission_for_quotas_it_says_how_to_proceed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise quotas.NotPermitted("cannot set a CPU quota per slot: /x is not writable")

    monkeypatch.setattr(quotas, "quota", refuse)
    assert run(["profile", "words.yaml", "upper"]) == ERROR
    assert "measure with --no-quota" in capfd.readouterr().err
