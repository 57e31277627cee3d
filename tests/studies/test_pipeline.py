from __future__ import annotations

import pytest

from slotwise.studies import sensitivity
from slotwise.studies.conditions import (
    ASSUMED,
    DEFAULT,
    IN_ORDER,
    OVERLOAD,
    PIPELINE,
    R_STORM,
    SCHEDULERS,
    UNSTEPPED,
    Trial,
)
from slotwise.studies.pipeline import BUFFERS, LOADS, RATES
from slotwise.studies.study import Table
from slotwise.workloads.pipeline import linear
from tests.studies.quick import quick


def column(table: Table, name: str) -> list[float]:
    return [float(cell) for cell in table.column(name)]  # type: ignore[arg-type]


def test_the_placement_alone_carries_more_than_filling_slot_by_slot_or_r_storm() -> None:
    rates = quick("pipeline").table(RATES)
    for other in (IN_ORDER, R_STORM):
        assert min(column(rates, f"no steps over {other} %")) > 20


def test_steps_cost_latency_and_throughput() -> None:
    study = quick("pipeline")
    for table, stepped, free in (
        (study.table(LOADS), f"{UNSTEPPED} ms", f"{PIPELINE} ms"),
        (study.table(RATES), f"{PIPELINE} tuples/s", f"{UNSTEPPED} tuples/s"),
    ):
        pairs = zip(column(table, stepped), column(table, free), strict=True)
        assert all(less < more for less, more in pairs)


def test_steps_keep_receive_buffers_to_a_tuple_at_any_load() -> None:
    table = quick("pipeline").table(BUFFERS)
    assert OVERLOAD in table.column("load")
    in_use = {who: column(table, f"{who} % in use") for who in SCHEDULERS}
    assert max(in_use[PIPELINE]) <= 100 / ASSUMED.node_buffer
    assert max(in_use[DEFAULT]) > 100 * max(in_use[PIPELINE])
    assert not any(column(table, f"{PIPELINE}: sent again per input"))


def test_the_size_of_receive_buffers_decides_about_latency() -> None:
    """The pipeline saves some only where a second tuple at a node is lost; it never loses any."""
    table = quick("pipeline").table(sensitivity.TITLE)
    rows = {
        (question.assumption, question.value): row
        for question, row in zip(sensitivity.QUESTIONS, table.rows, strict=True)
    }
    saved = [table.columns.index(f"{name}: latency below %") for name in ("random", "linear")]
    for question, saves in (
        (sensitivity.BASE, False),
        (sensitivity.TWO_TUPLES, False),
        (sensitivity.PREMISE, True),
    ):
        row = rows[question.assumption, question.value]
        assert all((float(row[column]) > 0) is saves for column in saved), question  # type: ignore[arg-type]
    for name in ("random", "linear"):
        again = column(table, f"{name}: sent again per input, {DEFAULT}")
        assert again[0] == 0 < max(again)
        stepped = [q.ours == PIPELINE for q in sensitivity.QUESTIONS]
        ours = column(table, f"{name}: sent again per input, {PIPELINE}")
        assert not any(each for each, steps in zip(ours, stepped, strict=True) if steps)


def test_turns_that_are_used_are_those_between_nodes_that_talk() -> None:
    """Four threads of each of four operators on the same four of eight nodes: in each of three
    stages 12 pairs, of 8 nodes × 8 time slots × 3 stages.
    """
    assert Trial.of(linear()).turns_used == pytest.approx(36 / 192)


def test_verdicts_on_throughput_follow_from_the_simulated_rates() -> None:
    study = quick("pipeline")
    rates = study.table(RATES)
    names = [str(name) for name in rates.column("topology")]
    compared = {row.paper.what: row for row in study.comparisons}
    for topology in ("random", "linear"):
        row = compared[f"throughput over default, {topology}"]
        at = names.index(topology)
        ours, theirs = (column(rates, f"{who} tuples/s")[at] for who in (PIPELINE, DEFAULT))
        assert row.ours == pytest.approx(100 * (ours / theirs - 1))
        assert (row.verdict == "differs") == (row.ours < 0)
