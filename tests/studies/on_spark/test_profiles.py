"""Profiles of a study are measured once, and operators with the same logic share one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import slotwise
from slotwise.model import FixedLoad, Pipeline, Platform
from slotwise.profilers.bench import Bench
from slotwise.profilers.operators import Procedure
from slotwise.studies.on_spark import profiles
from slotwise.studies.on_spark.lab import lab
from slotwise.studies.on_spark.profiles import measured_pipelines, measured_platform
from slotwise.studies.study import Effort
from tests.profilers.made import MEASURED, PROFILED


class Benches:
    """Counts the benches that start, and the operators that are measured on them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started = 0
        self.measured: list[str] = []
        monkeypatch.setattr(profiles, "measure", self.measure)
        monkeypatch.setattr(profiles, "measurement", lambda bench, trials: MEASURED)

    @contextmanager
    def on(self) -> Iterator[Bench]:
        self.started += 1
        yield None  # type: ignore[misc]

    def measure(self, bench: Any, pipeline: Any, names: Sequence[str], *_: Any, **__: Any) -> Any:
        for name in names:
            self.measured.append(name)
            yield replace(PROFILED, operator=name)


def pipelines(
    folder: Path,
    benches: Benches,
    kinds: Sequence[str],
    names: Sequence[str] = ("linear", "diamond"),
    procedure: Procedure = Procedure(),  # noqa: B008
) -> dict[str, Pipeline]:
    given = {name: slotwise.load(name) for name in names}
    with lab(Effort(), folder, lambda line: None) as place:
        return dict(measured_pipelines(place, benches.on, given, procedure, kinds))


def test_what_the_first_pipeline_has_is_not_measured_for_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benches = Benches(monkeypatch)
    found = pipelines(tmp_path, benches, ("source", "operator", "sink"))
    assert len(set(benches.measured)) == len(benches.measured)
    assert found["diamond"].profiles["pi"] == found["linear"].profiles["pi"]
    assert found["diamond"].profiles.measurement("pi") == MEASURED


def test_a_second_call_reads_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benches = Benches(monkeypatch)
    first = pipelines(tmp_path, benches, ("operator",))
    started = benches.started
    assert pipelines(tmp_path, benches, ("operator",)) == first
    assert benches.started == started


def test_another_procedure_measures_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benches = Benches(monkeypatch)
    pipelines(tmp_path, benches, ("operator",))
    measured = list(benches.measured)
    pipelines(tmp_path, benches, ("operator",), procedure=Procedure(most_threads=2))
    assert benches.measured == 2 * measured


def test_operators_of_other_kinds_keep_their_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = pipelines(tmp_path, Benches(monkeypatch), ("operator",))
    assert isinstance(found["linear"].profiles["source"], FixedLoad)


def test_the_platform_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benches = Benches(monkeypatch)
    with lab(Effort(), tmp_path, lambda line: None) as place:
        found = [
            measured_platform(place, benches.on, lambda bench, say: (Platform(slot_cpu=0.1), ()))
            for _ in range(2)
        ]
    assert found[0].slot_cpu == 0.1
    assert found[0] == found[1]
    assert benches.started == 1
