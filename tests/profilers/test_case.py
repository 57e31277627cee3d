"""The three operators of an experiment, and what is upstream of a captured input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import slotwise
from slotwise.model import Grouping, Logic, Operator, SlotwiseError
from slotwise.profilers.capture import TWIN, _grouping, _with_twins
from slotwise.profilers.case import NEXT_HOP, REPLAY, Captured, Case
from slotwise.profilers.experiment import chosen

INPUT = Captured(Path("in.jsonl"), "it's STRING, n BIGINT", 10)


def names(of: Case) -> list[str]:
    return [operator.name for operator in of.topology().operators]


def test_an_operator_is_between_its_replayed_input_and_its_next_hop() -> None:
    case = Case(Operator("a", "operator", 1.0, Logic(expr="n")), INPUT, Grouping("fields", ("n",)))
    made = case.topology()
    assert names(case) == [REPLAY, "a", NEXT_HOP]
    assert [stream.grouping.kind for stream in made.streams] == ["fields", "shuffle"]
    assert made.operators[0].logic.expr == "from_json(value, 'it\\'s STRING, n BIGINT')"
    assert ("payload", "file(in.jsonl)") in made.operators[0].logic.options


def test_a_sink_has_no_next_hop_and_a_source_no_input() -> None:
    assert names(Case(Operator("k", "sink"), INPUT, emits=False)) == [REPLAY, "k"]
    options = (("payload", "id"), ("records", "5"), ("delay", "9s"), ("schedule", "x"))
    source = Operator("s", "source", 3.0, Logic(options=options))
    case = Case(source, None)
    assert names(case) == ["s", NEXT_HOP]
    own = case.topology().operators[0]
    assert own.share == 1.0
    assert dict(own.logic.options) == {"payload": "id", "delay": "1500ms"}


def test_twins_get_what_their_operators_get() -> None:
    topology = slotwise.load("word-count").topology
    made = _with_twins(topology, ["split", "count"])
    kept = [operator.name for operator in made.operators]
    assert kept == ["tweets", "parse", "split", TWIN + "split", TWIN + "count"]
    ends = [(stream.source, stream.target) for stream in made.streams]
    assert ends == [
        ("tweets", "parse"),
        ("parse", "split"),
        ("parse", TWIN + "split"),
        ("split", TWIN + "count"),
    ]
    assert dict(made.operators[0].logic.options)["records"] == "400"


def test_keys_stay_together_where_the_operator_needs_it() -> None:
    topology = slotwise.load("word-count").topology
    by_name = {operator.name: operator for operator in topology.operators}
    assert _grouping(topology, by_name["count"]) == Grouping("fields", ("value",))
    assert _grouping(topology, by_name["split"]) == Grouping("shuffle")


def test_operators_are_chosen_by_name() -> None:
    pipeline = slotwise.load("word-count")
    assert chosen(pipeline, ()) == ["tweets", "parse", "split", "count", "out"]
    assert chosen(pipeline, ("count", "count")) == ["count"]
    with pytest.raises(SlotwiseError, match=r"no operator 'counts'.*count"):
        chosen(pipeline, ("counts",))


def test_an_operator_without_logic_is_refused() -> None:
    pipeline = slotwise.load("word-count")
    operators = tuple(
        replace(operator, logic=Logic()) if operator.name == "parse" else operator
        for operator in pipeline.topology.operators
    )
    without = replace(pipeline, topology=replace(pipeline.topology, operators=operators))
    with pytest.raises(SlotwiseError, match="'parse' has no logic to measure"):
        chosen(without, ())
    assert chosen(without, (), {"parse": lambda value: value})
