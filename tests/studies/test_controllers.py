"""Controllers on days of changing load: the days, the clairvoyant, the contest, the whole study."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from slotwise import registry
from slotwise.model import Schedule
from slotwise.studies.contests import contests, lost, verdicts
from slotwise.studies.controller_results import DRAWN, OURS, Results, label, strategies
from slotwise.studies.controller_trials import CLAIRVOYANT, COLUMNS, MEAN, PEAK, Trial
from slotwise.studies.controller_workloads import WORKLOADS
from slotwise.studies.controllers import ALL, MATRICES, SLOT_HOURS, VIOLATION
from slotwise.studies.foresight import foreseen
from slotwise.studies.load_shapes import HIGH, LOW, NOISE, Shape, shapes
from tests.studies.quick import quick

DAY_S = 1200.0
DAYS = shapes(DAY_S, seed=0)


class TestShapes:
    """By hand."""

    @pytest.mark.parametrize(
        ("name", "mean", "peak"),
        [
            ("step", 1.5, 2.0),
            ("ramp", 0.25 + 0.5 * 1.75 + 0.25 * 2.5, 2.5),
            ("bursts", 0.9 + 0.1 * 2.5, 2.5),
            ("drift", math.log(1 / 0.6) / 0.4, 1 / 0.6),
            ("slow node", 1.0, 1.0),
        ],
    )
    def test_mean_and_peak_of_the_demand(self, name: str, mean: float, peak: float) -> None:
        assert DAYS[name].mean_demand() == pytest.approx(mean, rel=1e-3)
        assert DAYS[name].peak_demand() == pytest.approx(peak)

    def test_the_day_is_a_sine_with_noise_from_the_seed(self) -> None:
        factors = [factor for _, factor in DAYS["day"].rate.points]
        assert LOW * (1 - NOISE) <= min(factors) <= max(factors) <= HIGH * (1 + NOISE)
        assert DAYS["day"].mean_demand() == pytest.approx(1.0, rel=0.05)
        assert shapes(DAY_S, seed=1)["day"] != DAYS["day"] == shapes(DAY_S, seed=0)["day"]

    def test_the_highest_demand_of_a_period_is_exact_at_jumps_and_ends(self) -> None:
        day = Shape("x", "", 30.0, Schedule.step(at_s=9.0, factor=2.0))
        assert [day.highest(at_s, at_s + 3)[0] for at_s in (3.0, 6.0, 8.0, 9.0)] == [1, 1, 2, 2]
        slower = Shape("x", "", 10.0, speed=Schedule.ramp(0.0, 10.0, 0.5))
        demand, speed = slower.highest(0.0, 10.0)
        assert (demand, speed) == (pytest.approx(2.0), pytest.approx(0.5))


def test_a_clairvoyant_changes_with_the_demand_and_not_before() -> None:
    found = foreseen(WORKLOADS["vld"], DAYS["step"], 100.0)
    slots = [plan.slots for plan in found.plans]
    assert slots == [*[min(slots)] * 3, *[max(slots)] * 6, *[min(slots)] * 3]
    assert found.changes == 2


class TestTrials:
    """Parts with a key and a row."""

    def test_keys_tell_trials_apart(self) -> None:
        made = [
            Trial(workload, shape, strategy, day_s, seed)
            for workload in ("vld", "diamond")
            for shape in ("step", "day")
            for strategy in ("flink", MEAN)
            for day_s in (600.0, 601.0)
            for seed in (0, 1)
        ]
        assert len({trial.key for trial in made}) == len(made)

    def test_a_row_is_the_same_again_and_has_all_columns(self) -> None:
        trial = Trial("vld", "step", "threshold", 200.0, 3)
        one, other = trial.row(), trial.row()
        assert list(one) == list(COLUMNS)
        for row in (one, other):
            assert row.pop("longest_decision_s") > 0
        assert one == other == json.loads(json.dumps(one, allow_nan=False))
        assert one["seconds"] == 200.0
        assert one["slots"][0] is None  # before the end of the first period
        assert all(one["slots"][10:])

    def test_what_fails_says_why(self) -> None:
        row = Trial("vld", "step", "drz", 200.0, 0).row()
        assert "unknown controller 'drz'" in row["problem"]
        assert row["violation_s"] is None


def made(figures: dict[str, tuple[float, float]]) -> Results:
    """One day, with seconds in violation and slot-hours per strategy; others have no figures."""
    rows = {
        (DRAWN, "step", name): dict.fromkeys(COLUMNS)
        | dict(zip(("violation_s", "slot_hours"), figures.get(name, (None, None)), strict=True))
        for name in strategies()
    }
    return Results(1000.0, 0, (DRAWN,), ("step",), rows)


@pytest.mark.parametrize(
    ("ours", "is_best", "dominating", "cheaper"),
    [
        ((10.0, 11.0), True, (), ("flink",)),
        ((60.0, 11.0), False, ("threshold",), ("flink",)),
        ((50.0, 13.0), False, ("threshold",), ("flink",)),
        ((10.0, 5.0), True, (), ()),
    ],
)
def test_the_contest(
    ours: tuple[float, float],
    is_best: bool,
    dominating: tuple[str, ...],
    cheaper: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "CONTROLLERS", {**registry.CONTROLLERS, OURS: "ours"})
    figures = {CLAIRVOYANT: (0.0, 10.0), "threshold": (50.0, 11.0), "flink": (90.0, 9.0)}
    (contest,) = contests(made(figures | {OURS: ours}))
    assert contest.slots == ours[1] / 10
    assert (contest.least, contest.least_s) == ("threshold", 50.0)
    assert (contest.is_best, contest.dominating) == (is_best, dominating)
    assert tuple(contest.cheaper) == cheaper
    told = " ".join(verdicts([contest], 1000.0))
    assert ("is not best on step" in told) == (not is_best)
    assert ("flink, which misses goals for 9% of the time" in told) == bool(cheaper)
    least = "1 of 1 load shape: step." if is_best and not cheaper else "0 of 1 load shape."
    assert f"the least of both, time in violation and slot-hours, on {least}" in told
    close = "0 of 1 load shape." if ours[1] > 11.5 else "1 of 1 load shape: step."
    assert f"at most 15% above the clairvoyant's on {close}" in told


@pytest.mark.parametrize(
    ("ours_s", "told"),
    [
        (60.0, "1 of 1 day: vld step (60 s; threshold 50 s)."),
        (50.0, "0 of 1 day."),
        (95.0, "1 of 1 day: vld step (95 s; threshold 50 s, flink 90 s)."),
    ],
)
def test_days_on_which_another_controller_has_less_are_named(
    ours_s: float, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "CONTROLLERS", {**registry.CONTROLLERS, OURS: "ours"})
    figures = {CLAIRVOYANT: (0.0, 10.0), "threshold": (50.0, 11.0), "flink": (90.0, 9.0)}
    (sentence,) = lost(made(figures | {OURS: (ours_s, 10.0)}))
    assert (
        sentence
        == f"Day by day, another controller has less time in violation than {OURS} on {told}"
    )


def test_without_ours_there_is_no_contest() -> None:
    assert list(verdicts([], 1000.0)) == []


class TestStudy:
    """Its quick version."""

    def test_every_strategy_has_figures_for_every_day(self) -> None:
        study = quick("controllers")
        assert study.table(ALL).column("strategy") == [label(name) for name in strategies()]
        for title in (VIOLATION, SLOT_HOURS):
            for row in study.table(title).rows:
                assert all(isinstance(cell, float) for cell in row[2:]), (title, row)
        assert {table.title for table in study.tables} >= set(MATRICES)

    def test_a_plan_for_the_peak_holds_a_step_and_one_for_the_mean_does_not(self) -> None:
        columns = ("workload", "shape", *map(label, strategies()))
        step = dict(zip(columns, quick("controllers").table(VIOLATION).rows[0], strict=True))
        assert step["shape"] == "step"
        assert step[PEAK] == 0.0 == step[CLAIRVOYANT]
        assert step[MEAN] > 0.0  # type: ignore[operator]

    def test_charts_have_a_line_per_strategy_and_days_over_time(self) -> None:
        charts = {chart.name: chart for chart in quick("controllers").charts}
        assert len(charts["trade-step"].lines) == len(strategies()) - 1
        first = charts["slots-step"].lines[0]
        assert first.name == CLAIRVOYANT
        known = [y for y in first.y if y is not None]
        assert charts["latency-step"].levels == (("goal", 8.0),)
        assert [y for y, _ in itertools.groupby(known)] == [known[0], max(known), known[0]]
