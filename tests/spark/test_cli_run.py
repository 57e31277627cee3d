"""`slotwise run`: what it prints, how it exits, and that bad input starts nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.cli import DONE, ERROR, USAGE, run
from slotwise.cli.running import missed_goals, seconds_of
from slotwise.model import Goals, Observation

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


def test_times() -> None:
    assert [seconds_of(text) for text in ("60", "60s", "2m", "0.5h")] == [60, 60, 120, 1800]


def seen(**changes: object) -> Observation:
    figures: dict[str, object] = {
        "origin": "measured",
        "input_rate": 100.0,
        "rate": 100.0,
        "latency_ms": 10.0,
        "network_ms": 0.0,
        "operators": (),
        "slots": (),
        "nodes": (),
        "inter_slot_traffic": 0.0,
        "inter_node_traffic": 0.0,
    }
    return Observation(**{**figures, **changes})  # type: ignore[arg-type]


def test_goals() -> None:
    goals = Goals(rate=100, latency_ms=20)
    assert missed_goals(goals, None, seen()) == ()
    assert "below 100.0/s" in missed_goals(goals, None, seen(rate=80.0))[0]
    assert "above the goal of 20.0 ms" in missed_goals(goals, None, seen(latency_ms=25.0))[0]
    assert "not stable" in missed_goals(goals, None, seen(stable=False))[0]


def test_bad_input_starts_nothing(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["run", str(spec), "--for", "soon"]) == USAGE
    assert "'soon' is no time" in told(capsys)
    assert run(["run", "loop"]) == ERROR
    assert "a Spark query has no loops" in told(capsys)
    assert run(["run", str(spec), "--master", "spark://127.0.0.1:1"]) == ERROR
    assert "no master answers at spark://127.0.0.1:1" in told(capsys)
    assert run(["run", str(spec), "--master", "spark://here:1", "--cores-per-slot", "1"]) == ERROR
    assert "a CPU quota per slot is for embedded clusters" in told(capsys)
    assert run(["run", str(spec), "--cores-per-slot", "0"]) == ERROR
    assert "a CPU quota of 0 cores per slot is none" in told(capsys)
    assert run(["run", str(spec), "--slot-memory-mb", "469"]) == ERROR
    assert "at least 470 MB" in told(capsys)
    assert run(["run", str(spec), "--slot-memory-mb", "9999999"]) == ERROR
    assert "MB are free" in told(capsys)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert run(["run", str(spec)]) == ERROR
    assert "no Java in JAVA_HOME" in told(capsys)


def test_a_plan_of_another_spec_is_refused(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", str(spec), "--output", str(tmp_path / "plan.json")]) == DONE
    spec.write_text(SPEC % "lower(value)", encoding="utf-8")
    assert run(["run", str(spec), "--plan", str(tmp_path / "plan.json")]) == ERROR
    assert "its topology differs" in told(capsys)
