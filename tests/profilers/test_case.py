"""The three operators of an experiment, and what is upstream of a captured input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import slotwise
from slotwise.model import Grouping, Logic, Operator, SlotwiseError, Stream, Topology
from slotwise.profilers.capture import LONGEST_S, MESSAGES, TWIN, _grouping, _rows, _with_twins
from slotwise.profilers.case import NEXT_HOP, REPLAY, Captured, Case, check, reading
from slotwise.profilers.experiment import chosen
from slotwise.profilers.operators import _of_input
from tests.clocks import SettableClock

INPUT = Captured(Path("in.jsonl"), "it's STRING, n BIGINT", 10)


def names(of: Case) -> list[str]:
    return [operator.name for operator in of.topology().operators]


def test_an_operator_is_between_its_replayed_input_and_its_next_hop() -> None:
    case = Case(Operator("a", "operator", 1.0, Logic(expr="n")), INPUT, Grouping("fields", ("n",)))
    made = case.topology()
    assert names(case) == [REPLAY, "a", NEXT_HOP]
    assert [stream.grouping.kind for stream in made.streams] == ["fields", "shuffle"]
    expr = "from_json(value, 'it\\'s STRING, n BIGINT', map('mode', 'FAILFAST'))"
    assert made.operators[0].logic.expr == expr
    assert ("payload", "file(in.jsonl)") in made.operators[0].logic.options


def test_a_record_may_be_a_field_of_what_was_written() -> None:
    among = Captured(Path("in.jsonl"), "record1 STRUCT<n: INT>", 10, field="record1")
    assert among.replay().logic.expr == (
        "from_json(value, 'record1 STRUCT<n: INT>', map('mode', 'FAILFAST')).record1"
    )


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


class Batches:
    """A run whose batches give a twin so many records, one after the other."""

    def __init__(self, output: Path, records: list[int], mode: str, awaits_data: bool) -> None:
        self.output, self.records, self.batch = output, records, 0
        self.outline, self.awaits_data = SimpleNamespace(mode=mode), awaits_data
        self.query, self.clock = SimpleNamespace(isActive=True), SettableClock()

    def tick(self) -> None:
        if self.batch < len(self.records):
            row = json.dumps({"_sink": TWIN + "a", "id": 1, "ts": 1})
            file = self.output / f"batch-{self.batch}.json"
            file.write_text(f"{row}\n" * self.records[self.batch])
            self.batch += 1


@pytest.mark.parametrize(
    ("records", "mode", "captured"),
    [
        ([0, 5, 0, 0, 7, 0, 0, 0, 9], "real-time", 12),  # two batches are a lull, three the end
        ([300, 100, 9], "real-time", 400),  # enough
        ([5, 7], "micro-batch", 12),  # none begins without data
    ],
)
def test_a_capture_ends(tmp_path: Path, records: list[int], mode: str, captured: int) -> None:
    run = Batches(tmp_path, records, mode, awaits_data=True)
    found = _rows(run, ["a"], tmp_path)  # type: ignore[arg-type]
    assert len(found[TWIN + "a"]) == captured
    assert run.clock.now_s() < LONGEST_S


def test_a_capture_that_gets_little_ends_in_the_longest_time(tmp_path: Path) -> None:
    run = Batches(tmp_path, [5], "micro-batch", awaits_data=False)
    assert len(_rows(run, ["a"], tmp_path)[TWIN + "a"]) == 5  # type: ignore[arg-type]
    assert run.clock.now_s() == pytest.approx(LONGEST_S)


@pytest.mark.parametrize(("records", "remarks"), [(49, 1), (50, 0)])
def test_few_records_are_remarked(records: int, remarks: int) -> None:
    assert len(_of_input(replace(INPUT, records=records))) == remarks


def round_trip() -> Topology:
    """Numbers that go round through a topic."""
    servers = ("kafka.bootstrap.servers", "localhost:9092")
    return Topology(
        "round-trip",
        (
            Operator(
                "numbers",
                "source",
                logic=Logic(
                    format="kafka",
                    options=(servers, ("subscribe", "numbers")),
                    schema="n INT",
                    expr="struct(n)",
                    partitions=3,
                ),
            ),
            Operator("half", logic=Logic(expr="struct(n DIV 2 AS n)")),
            Operator(
                "again",
                logic=Logic(
                    format="kafka",
                    options=(servers, ("topic", "again"), ("key", "n")),
                    schema="n INT",
                    partitions=2,
                ),
            ),
            Operator("out", "sink"),
        ),
        (
            Stream("numbers", "half"),
            Stream("half", "again", 0.5),
            Stream("again", "half", loop=True),
            Stream("half", "out"),
        ),
    )


@pytest.mark.parametrize("wanted", [["half"], ["out"], ["again"], ["numbers", "half", "again"]])
def test_capturing_writes_to_no_topic(wanted: list[str]) -> None:
    made = _with_twins(round_trip(), wanted)
    for operator in made.operators:
        if operator.logic.format is not None:
            assert operator.kind == "source"
            assert "topic" not in dict(operator.logic.options)
            assert dict(operator.logic.options)["startingOffsets"] == "earliest"
    assert {operator.name for operator in made.operators if operator.kind == "sink"} == {
        TWIN + name for name in wanted
    }
    assert not any(stream.loop for stream in made.streams)


def test_a_topic_in_between_is_read_where_its_tuples_are_needed() -> None:
    made = _with_twins(round_trip(), ["half"])
    assert [operator.name for operator in made.operators] == ["numbers", "again", TWIN + "half"]
    assert {(s.source, s.target) for s in made.streams} == {
        ("numbers", TWIN + "half"),
        ("again", TWIN + "half"),
    }
    again = made.operators[1].logic
    assert (again.schema, again.partitions) == ("n INT", 2)
    assert dict(again.options)["subscribe"] == "again"


def test_of_what_reads_a_topic_its_messages_are_kept() -> None:
    made = _with_twins(round_trip(), ["again"])
    reader, twin = made.operators
    assert (reader.name, twin.name) == (MESSAGES + "again", TWIN + "again")
    assert (reader.logic.schema, reader.logic.partitions) == (None, 2)


def test_an_operator_that_reads_a_topic_is_sent_its_messages() -> None:
    messages = Captured(Path("in.jsonl"), "key STRING, value STRING", 10)
    case = Case(reading(round_trip().operators[0]), messages)
    assert names(case) == [REPLAY, "numbers", NEXT_HOP]
    of = case.topology().operators[1]
    assert (of.kind, of.logic.format, of.logic.options) == ("operator", None, ())
    assert (of.logic.schema, of.logic.expr) == ("n INT", "struct(n)")


def test_only_sources_whose_rate_can_be_set_are_measured() -> None:
    for operator in round_trip().operators[:3]:
        check(operator, None)
    files = Logic(format="json", options=(("path", "in"),), schema="n INT")
    with pytest.raises(SlotwiseError, match="source 's' reads json, whose rate cannot be set"):
        check(Operator("s", "source", logic=files), None)


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
