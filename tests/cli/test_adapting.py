"""`simulate --controller` and `replay`: options, lines, table, JSON, files and exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slotwise.model import Goals
from slotwise.spec import dump
from slotwise.spec.plan_json import plan_to_json
from tests.controllers.timelines import pipeline, plan_at

from .conftest import Run

GOALS = Goals(rate=150.0, latency_p99_ms=500.0)
STEP = ("--schedule", "step:at=60s,factor=2", "--for", "3m")
ADAPT = ("simulate", "small.yaml", "--controller", "threshold", *STEP)


@pytest.fixture(autouse=True)
def small(run: Run, tmp_path: Path) -> None:
    """One operator that handles 100/s per thread, at 150/s."""
    (tmp_path / "small.yaml").write_text(dump(pipeline(GOALS)))


def test_the_table_has_what_it_cost_and_each_change_beside_its_expectation(run: Run) -> None:
    ran = run(*ADAPT)
    assert ran.status == 99
    assert ran.out.startswith("test under threshold for 0:03:00, a decision every 10 s\n")
    for told in ("In violation of goals, s", "Slot-hours", "Cost", "Worst p99", "Longest decision"):
        assert told in ran.out
    assert "work 2 → 3" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    first, *_, last = ran.err.splitlines()
    assert first.startswith("0:01:30 applied: work was ")
    assert first.endswith("(paused 3.00 s)")
    assert last.startswith("goal missed: latency_p99_ms in periods of ")


def test_json_has_the_summary_and_every_change(run: Run) -> None:
    told = json.loads(run(*ADAPT, "--json").out)
    assert told["topology"] == "test"
    assert told["rules"]["period_s"] == 10.0
    assert told["summary"]["changes"] == len(told["changes"]) > 0
    assert told["summary"]["violation_s"] > 0
    change = told["changes"][0]
    assert (change["expected_pause_s"], change["pause_s"]) == (3.0, 3.0)
    assert "work: 2 → 3 threads" in change["changes"]


def test_the_same_seed_gives_the_same_but_for_the_time_of_decisions(run: Run) -> None:
    one, other = (json.loads(run(*ADAPT, "--json", "--seed", "7").out) for _ in range(2))
    for each in (one, other):
        del each["summary"]["longest_decision_s"]
    assert one == other


def test_without_a_name_the_controller_is_look_ahead(run: Run) -> None:
    ran = run("simulate", "small.yaml", "--apply", "all", *STEP)
    assert ran.out.startswith("test under look-ahead for 0:03:00, a decision every 10 s\n")
    assert "applied: " in ran.err


def test_goals_that_hold_exit_with_0(run: Run) -> None:
    ran = run("simulate", "small.yaml", "--controller", "static", "--for", "1m")
    assert (ran.status, ran.err) == (0, "")


def test_changes_that_are_not_allowed_are_told_once(run: Run) -> None:
    ran = run(*ADAPT, "--apply", "never")
    assert re.search("^Changes +0 ", ran.out, re.MULTILINE)
    told = [line for line in ran.err.splitlines() if "recommended" in line]
    assert len(told) == 1
    assert told[0].endswith("(changes are recommended only (apply never))")


def test_a_control_file_forces_a_plan(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(plan_to_json(plan_at(350.0)))
    (tmp_path / "control.json").write_text('{"force": {"id": 1, "plan": "plan.json"}}')
    ran = run(*ADAPT, "--control", "control.json", "--json")
    change = json.loads(ran.out)["changes"][0]
    assert change["forced"]
    assert change["at_s"] == 10.0


def test_a_run_without_latency_goals_that_ends_unstable_exits_with_1(run: Run) -> None:
    Path("small.yaml").write_text(dump(pipeline(Goals(rate=150.0))))
    ran = run("simulate", "small.yaml", "--controller", "static", *STEP)
    assert ran.status == 1
    assert ran.err == "slotwise: unstable at the end: work is the bottleneck\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--controller", "flink"), "requires the simulated time, such as --for 1h"),
        (("--apply", "never"), "requires the simulated time, such as --for 1h"),
        (("--controller", "flink", "--for", "1m", "--period", "0s"), "--period: invalid duration"),
        (("--controller", "flink", "--for", "1m", "--tuples", "5"), "--tuples cannot be used"),
        (("--controller", "flink", "--for", "1m", "--apply", "some"), "never"),
    ],
)
def test_options_that_do_not_go_together(
    run: Run, arguments: tuple[str, ...], problem: str
) -> None:
    ran = run("simulate", "small.yaml", *arguments)
    assert ran.status == 2
    assert problem in ran.err


def test_a_controller_that_is_not_known_is_refused_before_planning(run: Run) -> None:
    ran = run("simulate", "missing.yaml", "--controller", "treshold", "--for", "1m")
    assert (ran.status, ran.out) == (1, "")
    assert "unknown controller 'treshold': did you mean 'threshold'" in ran.err


class TestReplay:
    """Of a run whose decisions were written."""

    @pytest.fixture(autouse=True)
    def recorded(self, run: Run, small: None) -> None:
        run(*ADAPT, "--decisions", "decisions.jsonl")

    def test_the_controller_of_the_run_decides_the_same(self, run: Run) -> None:
        ran = run("replay", "decisions.jsonl")
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.startswith("threshold decides differently in 0 of ")

    def test_another_one_decides_differently(self, run: Run) -> None:
        ran = run("replay", "decisions.jsonl", "--controller", "model-driven:seconds=10")
        assert "threshold, as recorded" in ran.out
        told = json.loads(run("replay", "decisions.jsonl", "--controller", "static", "--json").out)
        assert told["recorded_controller"] == "threshold"
        assert told["differing"] == len(told["differences"]) > 0
        assert told["differences"][0]["decision"]["kind"] == "keep"
        assert told["differences"][0]["recorded"]["threads"]["work"] == 3

    def test_a_journal_that_was_cut_is_used_as_far_as_it_goes(self, run: Run) -> None:
        journal = Path("decisions.jsonl")
        journal.write_text(journal.read_text()[:-9])
        ran = run("replay", "decisions.jsonl")
        assert ran.status == 0
        assert ran.err == "decisions.jsonl: the last line is not complete and is not used\n"

    def test_a_file_that_is_none_is_one_sentence(self, run: Run) -> None:
        ran = run("replay", "small.yaml")
        assert ran.status == 1
        assert ran.err.startswith("slotwise: small.yaml:1: the line is not JSON")
