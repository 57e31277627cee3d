from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from slotwise import workloads
from slotwise.spec import dump, load
from slotwise.spec.schema import json_schema, schema_text
from slotwise.spec.tree import read_tree

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "slotwise.schema.json"


def as_json(text: str) -> Any:
    """A YAML document as JSON has it: every key a text."""
    tree = read_tree(text, "spec")
    assert tree is not None
    return json.loads(json.dumps(tree.value))


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


def test_the_published_schema_is_the_generated_one() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), (
        "write it again: python -m slotwise.spec.schema > docs/reference/slotwise.schema.json"
    )


@pytest.mark.parametrize("name", workloads.names())
def test_every_example_is_valid(name: str, validator: Any) -> None:
    validator.validate(as_json(workloads.read(name)))
    validator.validate(as_json(dump(load(name))))


@pytest.mark.parametrize("option", ["4", "0.5", "fast", "true"])
def test_an_algorithm_with_options_is_valid(option: str, validator: Any) -> None:
    text = workloads.read("word-count")
    text = text.replace("placer: p-deployer", f"placer: {{exact: {{x: {option}}}}}")
    validator.validate(as_json(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kind: source", "kind: sauce"),
        ("rate: 2000", "rate: -1"),
        ("rate: 2000", "rate: '2000'"),
        ("{fields: value}", "{field: value}"),
        ("{fields: value}", "shufle"),
        ("selectivity: 10", "selectvity: 10"),
        ("slots: 2", "slots: 2.5"),
        ("catalog:", "machines:"),
        ("tweets: {fixed", "tweets: {service: {rate: 3}, fixed"),
        ("goals:", "cluster: [{name: a, slots: 1, memory_gb: 1}]\ngoals:"),
    ],
)
def test_mistakes_are_not_valid(old: str, new: str, validator: Any) -> None:
    text = workloads.read("word-count")
    assert text.count(old) == 1
    assert not validator.is_valid(as_json(text.replace(old, new)))


def test_keys_are_explained_for_editors() -> None:
    stream = json_schema()["$defs"]["StreamDocument"]
    assert set(stream["properties"]) == {"from", "to", "selectivity", "grouping", "loop"}
    assert "description" in stream["properties"]["selectivity"]
    assert stream["additionalProperties"] is False
