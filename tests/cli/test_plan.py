from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import slotwise
from slotwise.cli.output import write_file
from slotwise.model import Goals
from slotwise.spec import dump
from slotwise.spec.plan_json import plan_from_json

from .conftest import Run

PAIR = ("--allocator", "mba", "--placer", "sam")
LINEAR = ("plan", "linear", "--rate", "100", *PAIR)


def test_json_is_the_plan_and_nothing_else(run: Run) -> None:
    ran = run(*LINEAR, "--json")
    assert ran.status == 99
    told = json.loads(ran.out)
    assert (told["slots"], told["extra_slots"]) == (7, 0)
    assert told["threads"]["azure-blob"] == 170
    assert {"nodes", "placement", "predicted", "cost_per_hour", "reasons"} <= set(told)
    same = slotwise.plan("linear", 100, allocator="mba", placer="sam")
    assert plan_from_json(ran.out).placement == same.placement


def test_a_table_for_people(run: Run) -> None:
    ran = run(*LINEAR)
    assert ran.status == 99
    assert ran.out.startswith("linear at 100 tuples/s, by mba + sam\n7 slots on 2 machines (2× D3)")
    assert "azure-blob×20, azure-table×40" in ran.out
    assert "unbounded: azure-blob, azure-table are fully busy" in ran.out
    assert "inf" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_output_is_the_same_json(run: Run, tmp_path: Path) -> None:
    ran = run(*LINEAR, "--json", "--output", "plan.json")
    assert ran.err.startswith("wrote plan.json\n")
    assert (tmp_path / "plan.json").read_text(encoding="utf-8") == ran.out
    assert os.listdir(tmp_path) == ["plan.json"]


def test_options_of_an_algorithm_follow_its_name(run: Run) -> None:
    even = run("plan", "linear", "--rate", "100", "--placer", "topology:alpha=0", "--json")
    packed = run("plan", "linear", "--rate", "100", "--placer", "topology:alpha=0.5", "--json")
    assert json.loads(even.out)["placement"] != json.loads(packed.out)["placement"]


@pytest.fixture
def demanding(tmp_path: Path) -> str:
    """linear, with a rate that shuffle grouping does not carry, and a latency out of reach."""
    goals = Goals(rate=100, latency_ms=5)
    (tmp_path / "spec.yaml").write_text(dump(replace(slotwise.load("linear"), goals=goals)))
    return "spec.yaml"


@pytest.mark.parametrize("command", ["plan", "simulate"])
def test_a_spec_without_a_rate_needs_the_option(run: Run, command: str, tmp_path: Path) -> None:
    without = replace(slotwise.load("linear"), goals=Goals())
    (tmp_path / "spec.yaml").write_text(dump(without))
    ran = run(command, "spec.yaml")
    assert (ran.status, ran.out) == (1, "")
    assert "no rate to plan 'linear'" in ran.err
    assert ran.err.count("\n") == 1


def test_a_missed_goal_is_99_with_the_sentences_on_stderr(run: Run, demanding: str) -> None:
    ran = run("plan", demanding, *PAIR, "--json")
    assert ran.status == 99
    assert json.loads(ran.out)["slots"] == 7
    rate, latency = ran.err.splitlines()
    assert rate.startswith("goal missed: predicted capacity 80.0/s is below the goal of 100.0/s")
    assert latency.startswith("goal missed: predicted mean latency is unbounded, above the goal")


def test_the_rate_that_is_asked_for_is_the_goal(run: Run, demanding: str) -> None:
    ran = run("plan", demanding, "--rate", "50", *PAIR)
    assert ran.status == 99
    rate, latency = ran.err.splitlines()
    assert "is below the goal of 50.0/s" in rate
    assert "latency" in latency
    same = slotwise.plan(demanding, 50, allocator="mba", placer="sam")
    assert [verdict.reason for verdict in same.judged()] == [
        line.removeprefix("goal missed: ") for line in (rate, latency)
    ]


def test_goals_that_are_met_are_ticked(run: Run) -> None:
    ran = run("plan", "starter")
    assert ran.status == 0
    assert ran.out.count("✓") == 5


def test_a_default_plan_says_why_it_was_chosen(run: Run) -> None:
    ran = run("plan", "starter")
    assert ran.status == 0
    assert "the cheapest of " in ran.out
    assert ran.out.count("runner-up ") == 5


@pytest.mark.parametrize("place", ["missing/plan.json", "."])
def test_an_output_that_cannot_be_written_is_an_error(run: Run, place: str) -> None:
    ran = run(*LINEAR, "--output", place)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"slotwise: {place}: ")
    assert ran.err.count("\n") == 1


class TestWriteFile:
    def test_keeps_links_and_rights(self, tmp_path: Path) -> None:
        file, link = tmp_path / "file", tmp_path / "link"
        file.write_text("old")
        file.chmod(0o640)
        link.symlink_to(file)
        write_file(link, "new")
        assert link.is_symlink()
        assert file.read_text() == "new"
        assert file.stat().st_mode & 0o777 == 0o640

    def test_a_failure_leaves_the_old_file_and_no_other(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_text("old")
        with pytest.raises(UnicodeEncodeError):
            write_file(file, "half a \ud800 character")
        assert file.read_text() == "old"
        assert os.listdir(tmp_path) == ["file"]

    def test_what_is_no_regular_file_is_written_to(self, tmp_path: Path) -> None:
        write_file(Path(os.devnull), "text")
        assert not Path(os.devnull).is_file()
