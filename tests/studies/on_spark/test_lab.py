"""Finished trials are kept, and not measured again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise.model import Grouping, Plan
from slotwise.studies.on_spark.lab import Lab, Trial, lab
from slotwise.studies.study import Effort
from tests.builders import topology
from tests.simulation.builders import plan

PLAN = plan(topology("in>work", "work>out"), {"work": 10.0}, {"work": 2})


class Bench:
    """Counts how often the cluster starts, and what is measured."""

    def __init__(self) -> None:
        self.started = 0
        self.measured: list[str] = []

    @contextmanager
    def on(self) -> Iterator[Any]:
        self.started += 1
        yield self

    def trial(self, name: str, of: Plan = PLAN) -> Trial:
        def measure(stage: Any, plan: Plan) -> dict[str, Any]:
            if name == "fails":
                raise KeyboardInterrupt
            self.measured.append(name)
            return {"rate": plan.rate}

        return Trial(name, of, measure)


def opened(folder: Path, said: list[str]) -> Any:
    return lab(Effort(), folder, said.append)


def results(place: Lab, bench: Bench, *names: str) -> list[str]:
    return list(place.measured([bench.trial(name) for name in names], bench.on))


def test_an_interrupted_study_goes_on_after_the_last_finished_trial(tmp_path: Path) -> None:
    bench = Bench()
    with pytest.raises(KeyboardInterrupt), opened(tmp_path, []) as place:
        results(place, bench, "one", "two", "fails")
    with opened(tmp_path, []) as place:
        assert results(place, bench, "one", "two", "three") == ["one", "two", "three"]
    assert bench.measured == ["one", "two", "three"]


def test_without_a_trial_left_no_cluster_starts(tmp_path: Path) -> None:
    bench = Bench()
    for _ in range(2):
        with opened(tmp_path, []) as place:
            results(place, bench, "one")
    assert bench.started == 1


def test_progress_tells_how_far_the_work_is(tmp_path: Path) -> None:
    said: list[str] = []
    with opened(tmp_path, said) as place:
        results(place, Bench(), "one", "two")
    assert [line.partition(" in ")[0] for line in said] == [
        "one: trial 1 of 2",
        "two: trial 2 of 2",
    ]


def test_what_is_predicted_of_a_plan_does_not_make_it_another_one() -> None:
    trial = Bench().trial
    assert trial("a", PLAN).key == trial("a", replace(PLAN, predicted=None, rate=9.0)).key


def test_weights_count_where_tuples_are_routed_by_them() -> None:
    trial, weights = Bench().trial, {**PLAN.weights, "work": (0.3, 0.7)}
    other = replace(PLAN, weights=weights)
    assert trial("a", other).key != trial("a", PLAN).key
    stream = replace(PLAN.pipeline.topology.streams[0], grouping=Grouping("shuffle"))
    streams = (stream, *PLAN.pipeline.topology.streams[1:])
    shuffled = [
        replace(
            plan,
            pipeline=replace(
                plan.pipeline, topology=replace(plan.pipeline.topology, streams=streams)
            ),
        )
        for plan in (PLAN, other)
    ]
    assert trial("a", shuffled[0]).key == trial("a", shuffled[1]).key


def test_a_thread_in_another_slot_makes_it_another_one() -> None:
    slots = PLAN.placement.slots.copy()
    slots[0], slots[1] = slots[1], slots[0]
    moved = replace(PLAN, placement=replace(PLAN.placement, slots=np.array(slots)))
    assert Bench().trial("a", moved).key != Bench().trial("a", PLAN).key
