from __future__ import annotations

from typing import Any

import pytest

import slotwise
from slotwise.formats import check, completed_options, topic_of
from slotwise.model import Logic, ModelError, Operator, SlotwiseError
from slotwise.model.topology import OperatorKind
from slotwise.spec import SpecError, dump, loads
from slotwise.spec.plan_json import plan_to_json

SERVERS = {"kafka.bootstrap.servers": "host:9092"}


def operator(kind: OperatorKind, options: dict[str, str] | None = None, **logic: Any) -> Operator:
    return Operator("x", kind, logic=Logic(options=tuple((options or {}).items()), **logic))


def topic(options: dict[str, str], **logic: Any) -> Operator:
    return operator("source", {**SERVERS, **options}, format="kafka", **logic)


@pytest.mark.parametrize(
    "right",
    [
        topic({"subscribe": "a", "kafka.security.protocol": "SSL"}, schema="n INT", partitions=3),
        operator("source", {"path": "in"}, format="csv", schema="n INT", id="n"),
        operator("source", {"anything": "1"}, format="of-a-package"),
        operator("sink", {**SERVERS, "topic": "a", "key": "n"}, format="kafka"),
        operator("sink", {"path": "out"}, format="json"),
    ],
    ids=lambda right: f"{right.kind} {right.logic.format}",
)
def test_what_is_right_passes(right: Operator) -> None:
    check(right)


@pytest.mark.parametrize(
    ("wrong", "sentence", "key"),
    [
        (
            topic({"subscribe": "a", "startingOffset": "latest"}),
            "source 'x' reads kafka, which has no option 'startingOffset': did you mean "
            "'startingOffsets'?",
            ("options", "startingOffset"),
        ),
        (topic({"subscribe": "a,b"}), "subscribes to several topics: use a source for", None),
        (topic({"assign": "{}"}), "cannot have the option 'assign': set subscribe", None),
        (topic({}), "source 'x' reads kafka: add the option 'subscribe'", ("options",)),
        (
            operator("sink", {"topic": "a"}, format="kafka"),
            "writes kafka: add the option 'kafka.bootstrap.servers', or set it for all with kafka:",
            ("options",),
        ),
        (
            operator("source", {"rowsPerSecnd": "1"}, format="rate"),
            "did you mean 'rowsPerSecond'?",
            ("options", "rowsPerSecnd"),
        ),
        (operator("source", {"path": "in"}, format="json"), "add its schema, such as", ()),
        (operator("source", {"format": "rate"}), "write it beside options", ("options", "format")),
        (operator("source", schema="n INT"), "has schema, and is paced: set its", ("schema",)),
        (
            operator("source", format="rate", partitions=2),
            "has partitions, and reads rate: only topics",
            ("partitions",),
        ),
        (operator("sink", format="kafak"), "'kafak': did you mean 'kafka'?", ("format",)),
        (operator("sink", {"path": "out"}), "has the option 'path' and no format", None),
        (operator("sink", {"path": "out"}, format="kafka"), "has no option 'path'", None),
        (operator("sink", id="n"), "has id, which is for sources", ("id",)),
        (
            operator("operator", format="json"),
            "other formats are for sources and sinks",
            ("format",),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_refused_with_its_place(
    wrong: Operator, sentence: str, key: tuple[str, ...] | None
) -> None:
    with pytest.raises(ModelError) as refused:
        check(wrong)
    assert sentence in str(refused.value)
    if key is not None:
        assert refused.value.path == ("topology", "operators", "x", *key)


SPEC = """
topology:
  name: t
  operators:
    s:
      kind: source
      format: kafka
      options: {kafka.bootstrap.servers: "host:9092", subscribe: a, failOnDataLoss: false}
      schema: n INT
      event_time: n
      partitions: 2
    k: {kind: sink}
  streams: [{from: s, to: k}]
  dead_letters: {format: json, options: {path: dead}}
profiles: {s: {fixed: {}}, k: {fixed: {}}}
cluster: [{name: a, slots: 1, memory_gb: 1}]
packages: ["group:artifact:1"]
jars: [libraries]
"""


def test_what_a_spec_says_of_formats_is_written_as_it_was() -> None:
    pipeline = loads(SPEC)
    source, letters = pipeline.topology.operators[0].logic, pipeline.topology.dead_letters
    assert dict(source.options)["failOnDataLoss"] == "false"
    assert (source.schema, source.event_time, source.partitions) == ("n INT", "n", 2)
    assert letters == Logic(format="json", options=(("path", "dead"),))
    assert loads(dump(pipeline)) == pipeline


def test_dead_letters_are_checked_as_a_sink() -> None:
    with pytest.raises(SpecError, match=r"14:32: sink 'dead_letters' writes json: add the option"):
        loads(SPEC.replace("{path: dead}", "{}"))


def test_options_may_name_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    of = topic(
        {"subscribe": "${env:STAGE}-orders", "kafka.sasl.jaas.config": 'password="${env:WORD}";'}
    )
    monkeypatch.setenv("WORD", r"se\\1cret")
    monkeypatch.setenv("STAGE", "test")
    assert topic_of(of) == "test-orders"
    assert completed_options(of)["kafka.sasl.jaas.config"] == r'password="se\\1cret";'
    monkeypatch.delenv("WORD")
    with pytest.raises(SlotwiseError) as refused:
        completed_options(of)
    assert str(refused.value) == (
        "source 'x' has the environment variable WORD in its options, and it is not set"
    )


SHARED = """
topology:
  name: shared
  operators:
    orders:
      kind: source
      format: kafka
      options: {subscribe: orders}
    copies:
      kind: sink
      format: kafka
      options: {kafka.bootstrap.servers: "elsewhere:9092", topic: copies}
    files: {kind: sink, format: json, options: {path: out}}
  streams:
    - {from: orders, to: copies}
    - {from: orders, to: files}
  dead_letters: {format: kafka, options: {topic: dead}}
profiles:
  orders: {fixed: {cpu: 0.1}}
  copies: {fixed: {cpu: 0.1}}
  files: {fixed: {cpu: 0.1}}
cluster: [{name: a, slots: 2, memory_gb: 2}]
goals: {rate: 100}
kafka: {bootstrap.servers: "host:9092", "sasl.jaas.config": "${env:WORD}"}
"""


def test_a_password_is_in_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "se1cret")
    text = plan_to_json(slotwise.plan(loads(SHARED)))
    assert "${env:WORD}" in text
    assert "se1cret" not in text


def test_settings_of_the_client_are_for_all_that_has_topics() -> None:
    made = loads(SHARED)
    orders, copies, files = (dict(o.logic.options) for o in made.topology.operators)
    client = {"kafka.bootstrap.servers": "host:9092", "kafka.sasl.jaas.config": "${env:WORD}"}
    assert orders == {**client, "subscribe": "orders"}
    assert copies == {**client, "kafka.bootstrap.servers": "elsewhere:9092", "topic": "copies"}
    assert files == {"path": "out"}
    assert made.topology.dead_letters is not None
    assert dict(made.topology.dead_letters.options) == {**client, "topic": "dead"}
    assert loads(dump(made)).topology == made.topology
