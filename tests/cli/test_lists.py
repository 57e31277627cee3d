"""init, schema, examples, algorithms: what is written and printed as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slotwise import registry, workloads
from slotwise.spec.schema import json_schema

from .conftest import Run


def test_init_writes_a_spec_that_plans(run: Run, tmp_path: Path) -> None:
    ran = run("init")
    assert (ran.status, ran.out) == (0, "")
    assert (tmp_path / "slotwise.yaml").read_text(encoding="utf-8") == workloads.read("starter")
    assert run("plan", "slotwise.yaml").status == 0


def test_init_overwrites_only_with_force(run: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("mine")
    ran = run("init", "mine.yaml")
    assert (ran.status, mine.read_text()) == (1, "mine")
    assert "--force" in ran.err
    assert run("init", "mine.yaml", "--force").status == 0
    assert mine.read_text(encoding="utf-8") == workloads.read("starter")


def test_schema_is_the_published_one(run: Run) -> None:
    assert json.loads(run("schema").out) == json_schema()


def test_examples_have_a_line_each(run: Run) -> None:
    lines = json.loads(run("examples", "--json").out)
    assert tuple(lines) == workloads.names()
    assert all(line.endswith(".") and len(line) > 20 for line in lines.values())
    assert all(name in run("examples").out for name in lines)


@pytest.mark.parametrize("name", workloads.names())
def test_an_example_can_be_shown(run: Run, name: str) -> None:
    assert run("examples", "--show", name).out == workloads.read(name)


def test_algorithms_lists_the_registry(run: Run) -> None:
    found = json.loads(run("algorithms", "--json").out)
    for family, members in (
        ("allocator", registry.ALLOCATORS),
        ("provisioner", registry.PROVISIONERS),
        ("placer", registry.PLACERS),
    ):
        names = [entry["name"] for entry in found if entry["family"] == family]
        assert names == [*members, registry.AUTO]
    assert all(entry["what"].endswith(".") for entry in found)
    assert {(entry["package"], entry["problem"]) for entry in found} == {(None, None)}
    options = {(entry["family"], entry["name"]): entry["options"] for entry in found}
    assert options["placer", "topology"] == {"alpha": 0.0, "beta": 0.5}


def test_algorithms_as_a_table(run: Run) -> None:
    ran = run("algorithms")
    assert "alpha=0.0" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
