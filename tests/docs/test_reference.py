"""The reference names every key, option, algorithm and field there is, and no others."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slotwise import cli, registry, workloads
from slotwise.comparison import Candidate
from slotwise.flow import DataStream, Flow
from slotwise.model import Choice, Plan, Prediction
from slotwise.spec import load
from slotwise.spec.plan_document import PlanDocument
from slotwise.spec.schema import json_schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
Rows = list[list[str]]


def tables(page: str) -> dict[str, Rows]:
    """Heading -> the cells of the first table under it, without its head."""
    found: dict[str, Rows] = {}
    text = (REFERENCE / page).read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        table = re.search(r"(^\|.*\n)+", body, re.MULTILINE)
        lines = table[0].splitlines()[2:] if table else []
        found[heading.replace("`", "")] = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in lines
        ]
    return found


def named(cell: str) -> set[str]:
    """What stands in backquotes: `--help`, `-h`."""
    return set(re.findall("`([^`]+)`", cell))


def objects(schema: dict[str, Any], node: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """(path, object with properties) of a JSON Schema, depth first."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "properties" in node:
        yield path, node
        for key, value in node["properties"].items():
            yield from objects(schema, value, f"{path}.{key}".lstrip("."))
    for choice in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from objects(schema, choice, path)
    if isinstance(inside := node.get("additionalProperties"), dict):
        name = "COUNT" if path.endswith(".threads") else "NAME"
        yield from objects(schema, inside, f"{path}.{name}")
    if "items" in node:
        yield from objects(schema, node["items"], f"{path}[]")


def told_default(owner: dict[str, Any], key: str) -> str:
    """As spec.md tells it: required, – for none, else the value."""
    if key in owner.get("required", ()):
        return "required"
    match owner["properties"][key].get("default"):
        case None:
            return "–"
        case str(value):
            return f"`{value}`"
        case bool(value):
            return f"`{json.dumps(value)}`"
        case float(value):
            return f"`{value:g}`"
        case value:
            return f"`{value}`"


def test_spec_has_every_key_with_its_default() -> None:
    schema = json_schema()
    expected = {
        path or "The file": {(key, told_default(owner, key)) for key in owner["properties"]}
        for path, owner in objects(schema, schema, "")
    }
    found = {
        path: {(row[0].strip("`"), row[2]) for row in rows}
        for heading, rows in tables("spec.md").items()
        for path in heading.split(", ")
        if rows
    }
    assert found == expected


def test_plan_json_has_every_key() -> None:
    schema = PlanDocument.model_json_schema()
    expected = {
        path or "The plan": set(owner["properties"])
        for path, owner in objects(schema, schema, "")
        # A spec inside a plan is told on its own page, and loads of nodes like those of slots.
        if not path.startswith("pipeline") and path != "predicted.nodes[]"
    }
    found = {
        heading: {row[0].strip("`") for row in rows}
        for heading, rows in tables("plan-json.md").items()
    }
    assert found == expected


def test_examples_has_every_one_with_its_rate() -> None:
    text = (REFERENCE / "examples.md").read_text(encoding="utf-8")
    rows, *_ = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    cells = [line.strip("|").split("|") for line in rows.splitlines()[2:]]
    found = {row[0].strip(" `"): float(row[3].replace(",", "")) for row in cells}
    assert found == {name: load(name).goals.rate for name in workloads.names()}


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_command_line_has_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*command.split(), "--help"]) == cli.DONE
    printed = re.findall(r"^│ +(?:\* +)?(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    sections = tables("command-line.md")
    words = ["slotwise", *command.split()]
    (rows,) = [rows for name, rows in sections.items() if name.split()[:2] == words]
    told = {option for row in rows for option in named(row[0]) if option.startswith("--")}
    assert told == set(printed)


def test_algorithms_has_every_member_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["algorithms", "--json"]) == cli.DONE
    families = ("allocator", "provisioner", "placer", "controller")
    titles = {f"{family.capitalize()}s": family for family in families}
    found, expected = set(), set()
    for heading, rows in tables("algorithms.md").items():
        for row in rows:
            told = frozenset(named(row[-3]))
            found.add((titles[heading.split(":")[0]], row[0].strip("`"), told))
    for entry in json.loads(capsys.readouterr().out):
        options = {
            name if default is None else f"{name}={default:g}"
            for name, default in entry["options"].items()
        }
        expected.add((entry["family"], entry["name"], frozenset(options)))
    assert found == expected


def test_algorithms_tells_what_placers_guarantee() -> None:
    rows = tables("algorithms.md")["Placers: which thread where"]
    found = {row[0].strip("`"): row[2] for row in rows}
    for name in registry.PLACERS:
        guarantees = registry.placer(Choice(name)).guarantees
        assert found[name] == (", ".join(sorted(guarantees)) or "–"), name


@pytest.mark.parametrize(
    ("kind", "sections"),
    [(Plan, ["Plan"]), (Prediction, ["Prediction", "Observation"]), (Candidate, ["Candidate"])],
)
def test_python_has_every_field(kind: type, sections: list[str]) -> None:
    pages = tables("python.md")
    found = {name for section in sections for row in pages[section] for name in named(row[0])}
    assert found == {field.name for field in dataclasses.fields(kind)}


def test_python_has_every_field_of_a_run_summary() -> None:
    pytest.importorskip("pyspark")
    from slotwise.spark.run_summary import RunSummary

    found = {name for row in tables("python.md")["RunSummary"] for name in named(row[0])}
    assert found == {field.name for field in dataclasses.fields(RunSummary)}


def signatures(heading: str) -> dict[str, set[str]]:
    """The calls that the section's tables show: their names, and those of their parameters."""
    text = (REFERENCE / "python.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text.partition(f"## `{heading}`")[2], flags=re.MULTILINE)[0]
    calls = re.findall(r"^\| `(\w+)\((.*?)\)` \|", section, re.MULTILINE)
    return {
        name: set(re.findall(r"(?:^|[\s*])(\w+)(?:=|,|$)", re.sub(r"\([^)]*\)", "", parameters)))
        for name, parameters in calls
    }


@pytest.mark.parametrize("kind", [Flow, DataStream])
def test_python_has_every_member_of_a_flow(kind: type) -> None:
    told = signatures("Flow")
    for name, member in vars(kind).items():
        if name.startswith("_") or not inspect.isfunction(member):
            continue
        own = {
            each.name
            for each in inspect.signature(member).parameters.values()
            if each.name not in ("self", "named", "how")
        }
        assert own <= told[name], name


def test_decisions_has_every_key_of_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    cli.run(["simulate", "vld", *_BUSY, "--decisions", str(path)])
    found: dict[str, set[str]] = {"decision": set()}
    for line in map(json.loads, path.read_text().splitlines()):
        found.setdefault(line["record"], set()).update(line)
        found["decision"].update(line.get("decision", ()))
    pages = tables("decisions.md")
    told = {
        "run": pages["Record run"],
        "plan": pages["Record plan"],
        "change": pages["Record change"],
        "step": pages["Record step"],
        "decision": pages["The decision of a step"],
    }
    rare = {"forced", "note", "events", "resumed", "without_traffic"}
    for record, keys in found.items():
        documented = {key for row in told[record] for key in named(row[0])}
        assert keys - {"record"} <= documented, record
        assert documented - keys <= rare, record


_BUSY = ("--schedule", "step:at=10s,factor=2", "--controller", "threshold", "--for", "1m")
