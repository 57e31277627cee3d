"""Whose checkpoint it is, without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Grouping, Logic, SlotwiseError
from slotwise.spark.checkpoints import (
    NAME,
    PLAN,
    add_forced,
    check,
    claim,
    forced,
    in_effect,
    keep,
)
from slotwise.spark.query.outline import Outline, outline
from tests.spark.plans import plan, topology


def counting(threads: int = 1, sinks: int = 1, groups: int = 8, n: str = "count(*)") -> Outline:
    count = Logic(aggregate=(("by", "value"), ("n", n)), key_groups=groups)
    by_value = {"s>c": Grouping("fields", ("value",))}
    of = topology("s>c", "c>k", logic={"c": count}, groupings=by_value)
    return outline(plan(of, {"c": threads, "k": sinks}))


def test_threads_may_change_those_of_an_aggregate_too(tmp_path: Path) -> None:
    claim(tmp_path, counting())
    check(tmp_path, counting(threads=5, sinks=3))


def test_another_logic_is_another_topology(tmp_path: Path) -> None:
    claim(tmp_path, counting())
    with pytest.raises(SlotwiseError, match="belongs to another topology, 'test', or to another"):
        check(tmp_path, counting(n="count(1)"))


def test_other_key_groups_are_refused(tmp_path: Path) -> None:
    claim(tmp_path, counting())
    refusal = "divided into 8 key groups, and Spark cannot divide it into 16: set key_groups: 8 in"
    with pytest.raises(SlotwiseError, match=refusal):
        check(tmp_path, counting(groups=16))


def test_a_checkpoint_from_before_key_groups_has_one_per_thread(tmp_path: Path) -> None:
    claim(tmp_path, counting())
    theirs = json.loads((tmp_path / NAME).read_text())
    del theirs["key_groups"]
    (tmp_path / NAME).write_text(json.dumps({**theirs, "aggregate_threads": 2}))
    with pytest.raises(SlotwiseError, match=r"divided into 2 key groups.*set key_groups: 2"):
        check(tmp_path, counting(threads=2))
    check(tmp_path, counting(threads=2, groups=2))


def test_topologies_without_an_aggregate_have_no_key_groups(tmp_path: Path) -> None:
    of = outline(plan(topology("s>a", "a>k"), 2))
    claim(tmp_path, of)
    check(tmp_path, replace(of, plan=replace(of.plan, rate=7.0)))
    assert json.loads((tmp_path / NAME).read_text())["key_groups"] is None


def test_a_run_goes_on_with_the_plan_that_was_last_in_effect(tmp_path: Path) -> None:
    first, other = counting().plan, counting(threads=3).plan
    assert in_effect(tmp_path, first) is None
    keep(tmp_path, first, first)
    keep(tmp_path, first, other)
    assert in_effect(tmp_path, first) == other
    # Somebody has planned otherwise since: that counts.
    assert in_effect(tmp_path, counting(sinks=2).plan) is None


def test_a_last_plan_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    plan = counting().plan
    keep(tmp_path, plan, plan)
    text = (tmp_path / PLAN).read_text()
    for damaged in (text[:-10], text.replace('"operator": "k"', '"operator": "x"'), "{}"):
        (tmp_path / PLAN).write_text(damaged)
        assert in_effect(tmp_path, plan) is None


def test_what_a_person_has_forced_is_known_to_later_runs(tmp_path: Path) -> None:
    assert forced(tmp_path) == set()
    for id in ("2", "now", "2"):
        add_forced(tmp_path, id)
    assert forced(tmp_path) == {"2", "now"}
