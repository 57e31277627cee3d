"""Fields of records from Avro and JSON schemas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from slotwise.model import SlotwiseError
from slotwise.record_schemas import ddl_of
from slotwise.spec import SpecError, loads

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "number", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "before", "type": ["null", "State"]},
        {"name": "prices", "type": {"type": "array", "items": "double"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {
            "name": "buyer",
            "type": {
                "type": "record",
                "name": "Buyer",
                "fields": [{"name": "na me", "type": "string"}],
            },
        },
    ],
}
OF_JSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "number": {"type": "integer"},
        "at": {"type": "string", "format": "date-time"},
        "state": {"type": ["string", "null"]},
        "prices": {"type": "array", "items": {"type": "number"}},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "buyer": {"$ref": "#/$defs/buyer"},
    },
    "$defs": {"buyer": {"properties": {"na me": {"type": "string"}}}},
}


def written(folder: Path, name: str, content: Any) -> str:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return str(folder / name)


def test_ddl_is_as_it_is() -> None:
    assert ddl_of("n BIGINT, name STRING") == "n BIGINT, name STRING"


def test_avro(tmp_path: Path) -> None:
    assert ddl_of(written(tmp_path, "orders.avsc", AVRO)) == (
        "`number` BIGINT, `at` BIGINT, `state` STRING, `before` STRING, "
        "`prices` ARRAY<DOUBLE>, `tags` MAP<STRING, STRING>, `buyer` STRUCT<`na me` STRING>"
    )


def test_json_schema(tmp_path: Path) -> None:
    assert ddl_of(written(tmp_path, "orders.json", OF_JSON)) == (
        "`number` BIGINT, `at` TIMESTAMP, `state` STRING, `prices` ARRAY<DOUBLE>, "
        "`tags` MAP<STRING, STRING>, `buyer` STRUCT<`na me` STRING>"
    )


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.avsc", {"type": "record", "fields": [{"name": "n", "type": "text"}]}, "type 'text'"),
        ("a.avsc", ["int", "string"], "a union of 2 types"),
        ("a.avsc", "long", "is BIGINT: expected a record with fields"),
        ("a.json", {"type": "object", "properties": {"n": {"type": "any"}}}, "of type any"),
        ("a.json", {"properties": {"n": {"$ref": "#/$defs/n"}}}, "there is no #/$defs/n"),
        (
            "a.json",
            {"$ref": "#/$defs/n", "$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}},
            "#/$defs/n contains itself",
        ),
    ],
)
def test_what_has_no_type_of_sparks(tmp_path: Path, name: str, content: Any, problem: str) -> None:
    with pytest.raises(SlotwiseError, match=re.escape(problem)):
        ddl_of(written(tmp_path, name, content))


def test_a_spec_has_the_fields_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
topology:
  name: orders
  operators:
    orders: {kind: source, format: json, options: {path: in}, schema: orders.json}
    out: {kind: sink}
  streams: [{from: orders, to: out}]
profiles: {orders: {fixed: {}}, out: {fixed: {}}}
cluster: [{name: here, slots: 1, memory_gb: 1}]
"""
    with pytest.raises(SpecError, match=r"5:\d+.*schema orders.json: No such file"):
        loads(text)
    written(tmp_path, "orders.json", {"properties": {"n": {"type": "integer"}}})
    assert loads(text).topology.operators[0].logic.schema == "`n` BIGINT"
