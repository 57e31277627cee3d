"""Specs that once went wrong: every command gives a clear answer, and JSON if asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .conftest import Run

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.yaml"), key=lambda path: path.name)
COMMANDS = (
    ("plan",),
    ("plan", "--placer", "auto"),
    ("plan", "--placer", "partition"),
    ("compare", "--placers", "sam,p-deployer,partition"),
)
WRONG_PLURAL = re.compile(r"(?<![\d.,])1 [a-z ]*(slot|thread|machine|bundle|worker|node|part)s\b")


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_plan_or_one_sentence(run: Run, command: tuple[str, ...], case: Path) -> None:
    name, *options = command
    ran = run(name, str(case), *options)
    assert ran.status in (0, 1, 99), ran.err
    assert "internal error" not in ran.err
    assert not WRONG_PLURAL.search(ran.out + ran.err), ran.out + ran.err
    if ran.status == 1 and name == "plan":
        assert (ran.out, ran.err.count("\n")) == ("", 1)
    told = run(name, str(case), *options, "--json")
    assert (told.status, told.err) == (ran.status, ran.err)
    if told.status != 1:
        json.loads(told.out)


def test_without_a_rate_it_says_how_to_give_one(run: Run) -> None:
    case = next(case for case in CASES if case.stem == "repro-auto")
    assert "no rate to plan 't' for: pass a rate (--rate)" in run("plan", str(case)).err
    assert run("plan", str(case), "--rate", "20").status == 0
    assert run("plan", str(case), "--rate", "20", "--placer", "auto").status == 0


def test_drs_needs_a_bound(run: Run) -> None:
    case = next(case for case in CASES if case.stem == "drs-without-bound")
    refused = run("plan", str(case), "--allocator", "drs")
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith("slotwise: drs: needs a latency bound (goals.sojourn_ms, ")
    assert run("plan", str(case), "--allocator", "drs:latency_ms=30").status == 0
