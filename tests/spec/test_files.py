from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings

from slotwise import workloads
from slotwise.model import Join, Logic, Pipeline
from slotwise.spec import SpecError, dump, load, loads
from slotwise.spec.reading import MOST_BYTES
from tests.strategies import pipelines


@settings(max_examples=60, deadline=None)
@given(pipelines())
def test_what_is_dumped_loads_as_the_same_pipeline(pipeline: Pipeline) -> None:
    text = dump(pipeline)
    assert loads(text) == pipeline
    assert dump(loads(text)) == text


def test_a_dumped_spec_reads_like_one_written_by_hand() -> None:
    text = dump(load("word-count"))
    assert "    out: {kind: sink}\n" in text
    assert "  - {from: tweets, to: parse, grouping: shuffle}\n" in text
    assert "goals: {rate: 2000.0, latency_ms: 500.0, machines: 16}\n" in text


LOGIC = """
topology:
  name: logic
  operators:
    s: {kind: source}
    w: {where: "amount > 100"}
    j:
      join:
        table: countries.csv
        schema: "country STRING, name STRING"
        on: country
        how: left
        options: {header: true, sep: ";"}
    d: {distinct: {by: [country, "upper(name)"], key_groups: 16}}
    e: {distinct: id}
  streams: [{from: s, to: w}, {from: w, to: j}, {from: j, to: d}, {from: d, to: e}]
profiles: {s: {fixed: {}}, w: {fixed: {}}, j: {fixed: {}}, d: {fixed: {}}, e: {fixed: {}}}
cluster: [{name: n, slots: 1, memory_gb: 1}]
"""


def test_logic_is_dumped_as_it_was_loaded() -> None:
    pipeline = loads(LOGIC)
    found = {operator.name: operator.logic for operator in pipeline.topology.operators}
    options = (("header", "true"), ("sep", ";"))
    table = Join(
        *("countries.csv", "country STRING, name STRING", ("country",)), options=options, how="left"
    )
    assert found == {
        "s": Logic(),
        "w": Logic(where="amount > 100"),
        "j": Logic(join=table),
        "d": Logic(distinct=("country", "upper(name)"), key_groups=16),
        "e": Logic(distinct=("id",)),
    }
    assert loads(dump(pipeline)) == pipeline


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(workloads.read("chain"), encoding="utf-8")
    assert load(path) == load(str(path)) == load("chain")


def test_an_existing_file_goes_before_the_example_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("linear").write_text(workloads.read("star"), encoding="utf-8")
    assert load("linear").topology.name == "star"
    Path("diamond").mkdir()
    assert load("diamond").topology.name == "diamond"


def test_an_unknown_name_lists_the_examples() -> None:
    with pytest.raises(SpecError) as raised:
        load("no-such-thing")
    assert str(raised.value) == (
        "no-such-thing: there is no such file, and the bundled examples are "
        "chain, diamond, finance, fpd, grid, linear, loop, random, soccer, star, starter, "
        "tapering, traffic, twitter-sentiment, vld, word-count"
    )


@pytest.mark.parametrize("name", ["", "\0", "a\0b", "x" * 5000, "ü"])
def test_strange_names_are_no_files(name: str) -> None:
    with pytest.raises(SpecError, match="bundled examples"):
        load(name)


def test_a_missing_file_a_directory_and_a_forbidden_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.yaml: the file cannot be read \(No such file"):
        load(tmp_path / "none.yaml")
    with pytest.raises(SpecError, match=r"is a directory: expected a spec file"):
        load(tmp_path)
    with pytest.raises(SpecError, match="cannot be read"):
        load(f"{tmp_path}/\0")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission(tmp_path: Path) -> None:
    path = tmp_path / "locked.yaml"
    path.write_text("topology: {}\n")
    path.chmod(0)
    with pytest.raises(SpecError, match="Permission denied"):
        load(path)


def test_an_unreadable_file_gives_the_systems_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(SpecError, match=r"cannot be read \(Permission denied\): check its name"):
        load(tmp_path / "locked.yaml")


def test_a_file_of_10_mb_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"# filler\n" * (10_000_000 // 9))
    with pytest.raises(SpecError, match=r"large.yaml:1:1: the spec is too large"):
        load(path)
    with pytest.raises(SpecError, match="expected at most 2 MB"):
        loads("#" * (MOST_BYTES + 1))


def test_binary_junk_names_the_first_bad_byte(tmp_path: Path) -> None:
    path = tmp_path / "junk.yaml"
    path.write_bytes(b"topology:\n  \xff\xfe\x00")
    with pytest.raises(SpecError, match=r"junk.yaml:2:3: invalid UTF-8"):
        load(path)
    path.write_bytes(bytes(range(128)))
    with pytest.raises(SpecError, match=r"junk.yaml:1:1: the character '\\x00' is not allowed"):
        load(path)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + workloads.read("chain").replace("\n", "\r\n").encode())
    assert load(path) == load("chain")
