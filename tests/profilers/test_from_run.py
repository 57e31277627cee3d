"""Profiles from the JSON of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slotwise.json_data import json_text
from slotwise.machine import measured_now
from slotwise.model import (
    Logic,
    Measurement,
    Operator,
    ServiceRate,
    SlotwiseError,
    Stream,
    TaskCosts,
    Topology,
)
from slotwise.profilers.from_run import profiles_from_run
from slotwise.spec.observation_json import observation_data
from slotwise.spec.writing import profile_values
from tests.profilers.observed import observation

MEASURED = Measurement(
    "2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", 0.5, 512.0, source="run"
)
UPPER = Logic(expr="upper(value)")
TOPOLOGY = Topology(
    "t",
    (Operator("in", "source"), Operator("work", logic=UPPER), Operator("out", "sink")),
    (Stream("in", "work"), Stream("work", "out", 2.0)),
)


def run_data(measurement: Measurement = MEASURED, **work: float | None) -> dict[str, Any]:
    """As `slotwise run --json` has it: 200 tuples/s, 2 ms each, 0.1 cores."""
    loads = {"arrival_rate": 200.0, "service_ms": 2.0, "cpu": 0.1, "service_scv": 0.25, **work}
    seen = observation(
        {
            # A source and a sink do next to nothing themselves; their threads' CPU is Spark's.
            "in": {"arrival_rate": 200.0, "service_ms": 0.01, "cpu": 0.02, "service_scv": 4.0},
            "work": loads,
            "out": {"arrival_rate": 400.0, "service_ms": 0.001, "cpu": 0.02, "service_scv": 9.0},
        },
        {("in", "work"): 1.0, ("work", "out"): None if not loads["arrival_rate"] else 1.98},
    )
    data = {"topology": "t", "measured": observation_data(seen), "measurement": measurement}
    loaded: dict[str, Any] = json.loads(json_text(data))
    return loaded


def written(operator: str, data: dict[str, Any]) -> dict[str, Any]:
    """The profile as a spec has it, with 4 digits."""
    found: dict[str, Any] = profile_values(profiles_from_run(data, TOPOLOGY).profiles)[operator]
    assert found.pop("measured")["source"] == "run"
    return found


def test_service_costs_and_selectivities() -> None:
    found = profiles_from_run(run_data(), TOPOLOGY)
    assert list(found.profiles) == ["in", "work", "out"]
    assert found.profiles["work"].measurement == MEASURED
    # 0.5 ms of CPU in 2 ms, of a slot that has half a core
    assert written("work", run_data()) == {
        "service": {"rate": 500, "cpu": 0.5, "service_scv": 0.25},
        "costs": {"cpu_points": 0.05, "sojourn_ms": 2},
    }
    assert found.selectivities == {("in", "work"): 1.0, ("work", "out"): 1.98}
    assert found.remarks == ()


def test_without_a_quota_a_slot_is_a_core() -> None:
    measured = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17", "Some CPU", source="run")
    assert written("work", run_data(measured))["service"]["cpu"] == 0.25


def test_cpu_beyond_the_time_of_service_is_not_the_operators_own() -> None:
    """20 ms of CPU per second for 200 tuples, of which 10 µs each are the operator's."""
    measured = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17", "Some CPU", source="run")
    assert written("in", run_data(measured)) == {
        "service": {"rate": 100_000, "service_scv": 4},
        "costs": {"cpu_points": 0.001, "sojourn_ms": 0.01},
    }


def test_a_thread_is_no_faster_than_its_slot() -> None:
    """1.5 ms of CPU take 3 ms in a slot of half a core, though single tuples took 2 ms."""
    assert written("work", run_data(cpu=0.3)) == {
        "service": {"rate": 333.3, "service_scv": 0.25},
        "costs": {"cpu_points": 0.15, "sojourn_ms": 2},
    }


def test_an_operator_that_handled_nothing_is_left_out() -> None:
    found = profiles_from_run(run_data(arrival_rate=0.0, service_ms=None), TOPOLOGY)
    assert list(found.profiles) == ["in", "out"]
    assert found.selectivities == {("in", "work"): 1.0}
    assert found.remarks == ("work: handled nothing in this run: no profile",)


def test_what_is_assumed_is_said() -> None:
    data = run_data(cpu=None, service_scv=None)
    found = profiles_from_run(data, TOPOLOGY)
    assert found.profiles["work"].service == ServiceRate(250.0)
    assert found.profiles["work"].costs == TaskCosts(cpu_points=0.2, sojourn_ms=2.0)
    assert len(found.remarks) == 2
    assert found.remarks[0].startswith("work: computed in processes of their own")
    assert found.remarks[1] == (
        "work: not timed tuple by tuple: exponential service times are assumed"
    )


def test_operators_without_logic_are_named() -> None:
    operators = (Operator("in", "source"), Operator("work"), Operator("out", "sink"))
    empty = Topology("t", operators, TOPOLOGY.streams)
    assert profiles_from_run(run_data(), empty).remarks == (
        "work: without logic: the figures are those that the spec's profiles had in the run",
    )


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run_data()))
    assert profiles_from_run(path, TOPOLOGY) == profiles_from_run(run_data(), TOPOLOGY)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("topology: t", "run.json is not JSON: expected a file that 'slotwise run --json' wrote"),
        ("[]", "run.json is not the summary of a run: expected a file"),
        ("{}", "run.json is not the summary of a run"),
        (
            json.dumps(run_data() | {"measurement": {"at": "today"}}),
            "run.json is not the summary of a run",
        ),
    ],
)
def test_what_is_no_run(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(SlotwiseError, match=problem):
        profiles_from_run(path, TOPOLOGY)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SlotwiseError, match=r"cannot be read \(No such file or directory\)"):
        profiles_from_run(tmp_path / "run.json", TOPOLOGY)


def test_a_run_of_another_topology() -> None:
    other = Topology("u", TOPOLOGY.operators[:2], TOPOLOGY.streams[:1])
    with pytest.raises(SlotwiseError, match="a run of another topology, 't': expected one of 'u'"):
        profiles_from_run(run_data(), other)


def test_when_and_on_what_a_run_was_measured() -> None:
    here, elsewhere = (
        measured_now(0.5, 512, "run"),
        measured_now(None, 512, "run", here=False),
    )
    assert (here.source, here.cores, here.memory_mb) == ("run", 0.5, 512.0)
    assert here.at.endswith("Z")
    assert here.cpu != "unknown" or elsewhere.cpu == "unknown"
    assert (elsewhere.cpu, elsewhere.cores) == ("unknown", None)
