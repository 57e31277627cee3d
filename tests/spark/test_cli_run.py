"""`slotwise run`: what it prints, how it exits, and that bad input starts nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.cli import DONE, ERROR, USAGE, run

SPEC = """
topology:
  name: small
  operators:
    s: {kind: source}
    a: {expr: "%s"}
    k: {kind: sink}
  streams: [{from: s, to: a}, {from: a, to: k}]
profiles: {s: {fixed: {}}, a: {service: {rate: 1000, cpu: 0.1}}, k: {fixed: {}}}
cluster: [{name: n, slots: 1, memory_gb: 1}]
goals: {rate: 200}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(SPEC % "upper(value)", encoding="utf-8")
    return file


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


def test_bad_input_starts_nothing(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["run", str(spec), "--for", "soon"]) == USAGE
    assert "--for: invalid duration 'soon'" in told(capsys)
    assert run(["run", str(spec), "--schedule", "setp:at=5s"]) == ERROR
    assert "unknown schedule 'setp': did you mean 'step'?" in told(capsys)
    assert run(["run", "loop"]) == ERROR
    of_loop = told(capsys)
    assert "(the largest part that fits this machine; --scale 1 runs all of it)\n" in of_loop
    assert "in its place, the streams detector → TOPIC and TOPIC → detector (loop: true)" in of_loop
    assert run(["run", str(spec), "--master", "spark://127.0.0.1:1"]) == ERROR
    assert "cannot connect to master spark://127.0.0.1:1" in told(capsys)
    assert run(["run", str(spec), "--master", "spark://here:1", "--cores-per-slot", "1"]) == ERROR
    assert "--cores-per-slot requires an embedded cluster" in told(capsys)
    assert run(["run", str(spec), "--cores-per-slot", "0"]) == ERROR
    assert "--cores-per-slot must be greater than 0" in told(capsys)
    assert run(["run", str(spec), "--slot-memory-mb", "469"]) == ERROR
    assert "--slot-memory-mb must be at least 470" in told(capsys)
    assert run(["run", str(spec), "--slot-memory-mb", "9999999"]) == ERROR
    assert "MB are free" in told(capsys)
    assert run(["run", str(spec), "--controller", "treshold"]) == ERROR
    assert "did you mean 'threshold'?" in told(capsys)
    decisions = str(tmp_path / "missing" / "decisions.jsonl")
    assert run(["run", str(spec), "--controller", "static", "--decisions", decisions]) == ERROR
    assert "no such directory: use another --decisions" in told(capsys)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert run(["run", str(spec)]) == ERROR
    assert "no Java in JAVA_HOME" in told(capsys)


def test_a_plan_of_another_spec_is_refused(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(spec), "--output", str(tmp_path / "plan.json")]) == DONE
    spec.write_text(SPEC % "lower(value)", encoding="utf-8")
    assert run(["run", str(spec), "--plan", str(tmp_path / "plan.json")]) == ERROR
    assert "is a plan for another topology than" in told(capsys)
