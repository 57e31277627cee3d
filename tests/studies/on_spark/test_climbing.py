"""What the steps of a climb say."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from slotwise.studies.on_spark.climbing import Climb
from tests.studies.on_spark.made import climb, step


def test_the_peak_is_the_highest_stable_rate() -> None:
    assert climb(step(50), step(70), step(90, stable=False)).peak == 70


def test_one_unstable_step_does_not_end_a_climb() -> None:
    seen = climb(step(50), step(70, False), step(80), step(90, False), step(95, False), step(99))
    assert seen._before_the_end[-1].rate == 80


def test_what_comes_out_of_an_overloaded_plan_is_finer_than_the_steps() -> None:
    assert climb(step(50), step(80), step(90, False), step(100, False)).peak == pytest.approx(81)
    assert climb(step(50), step(85), step(90, False), step(100, False)).peak == 85


def test_one_step_of_which_much_less_comes_out_ends_a_climb() -> None:
    too_much = replace(step(120, False), throughput=100.0)
    assert too_much.is_too_much
    assert climb(step(50), step(90), too_much).peak == 100


def test_one_unstable_step_from_which_nearly_all_comes_out_does_not() -> None:
    paused = replace(step(70, False), throughput=69.0)
    assert climb(step(50), paused, step(90)).peak == 90


def test_a_step_that_works_off_a_backlog_is_not_stable() -> None:
    assert climb(step(50), step(70, None), step(80, False)).peak == 50


def test_where_the_first_step_is_unstable_the_peak_is_what_came_out() -> None:
    assert climb(step(50, False), step(70, False)).peak == pytest.approx(45)


def test_the_nearest_stable_steps() -> None:
    seen = climb(*(step(rate) for rate in (50, 70, 90, 100)), step(105, False), step(110, False))
    assert [near.rate for near in seen.nearest_to((0.5, 0.7, 0.9))] == [50, 70, 90]
    assert [near.rate for near in seen.nearest_to((0.1, 0.2, 1.0))] == [50, 100]


def test_a_climb_is_over_once_a_step_was_too_much() -> None:
    assert climb(step(50), step(70, False), step(80, False)).is_over
    assert not climb(step(50), step(70)).is_over


def test_a_climb_survives_a_journal() -> None:
    seen = climb(step(50), step(70, None), step(90, False))
    assert Climb.of(json.loads(json.dumps(seen.row()))) == seen
