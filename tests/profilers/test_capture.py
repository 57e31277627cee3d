"""Records as they arrive at operators, on a real cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

pytest.importorskip("pyspark")

from slotwise.model import Pipeline, SlotwiseError
from slotwise.profilers.bench import Bench
from slotwise.profilers.capture import cases
from slotwise.profilers.case import Captured, Case
from slotwise.profilers.measuring import Times, trial
from slotwise.spec import loads

pytestmark = pytest.mark.cluster

SHORT = Times(most_warm_up_s=1.0, measured_s=2.0)
PARQUET_SCHEMA = (
    "n INT, raw BINARY, tags MAP<STRING, INT>, place STRUCT<x: DOUBLE, names: ARRAY<STRING>>"
)
ROW = {"n": 7, "raw": b"\x00\xff", "tags": {"a": 1}, "place": {"x": 0.5, "names": ["é", "ü"]}}
TYPES = pyarrow.schema(
    {
        "n": pyarrow.int32(),
        "raw": pyarrow.binary(),
        "tags": pyarrow.map_(pyarrow.string(), pyarrow.int32()),
        "place": pyarrow.struct({"x": pyarrow.float64(), "names": pyarrow.list_(pyarrow.string())}),
    }
)


def pipeline(folder: Path, kind: str, schema: str, is_right: str, options: str = "") -> Pipeline:
    """Files of that kind to an operator that fails on records that are not as they were; beside
    it, one that no record reaches, and one that fails on all and has another after it.
    """
    return loads(f"""
topology:
  name: {kind}
  operators:
    files:
      kind: source
      format: {kind}
      options: {{path: {folder}{options}}}
      schema: "{schema}"
    none: {{where: "n < 0"}}
    never: {{expr: n}}
    right: {{expr: "assert_true({is_right})"}}
    broken: {{expr: "n / 0"}}
    after: {{expr: value}}
  streams:
    - {{from: files, to: none}}
    - {{from: none, to: never}}
    - {{from: files, to: right}}
    - {{from: files, to: broken}}
    - {{from: broken, to: after}}
profiles:
  files: {{fixed: {{}}}}
  none: {{service: {{rate: 10}}}}
  never: {{service: {{rate: 10}}}}
  right: {{service: {{rate: 10}}}}
  broken: {{service: {{rate: 10}}}}
  after: {{service: {{rate: 10}}}}
cluster: [{{name: n, slots: 1, memory_gb: 1}}]
goals: {{rate: 10}}
""")


def input_of(found: Case | SlotwiseError) -> Captured:
    assert isinstance(found, Case), found
    assert found.input is not None
    return found.input


def test_nested_records_are_replayed_typed_as_they_were(bench: Bench, tmp_path: Path) -> None:
    """The source ends; an operator that nothing reached says so."""
    parquet.write_table(pyarrow.Table.from_pylist([ROW] * 3, TYPES), tmp_path / "records.parquet")
    is_right = (
        "raw = X'00FF' AND tags['a'] = 1 AND map_keys(tags) = array('a') AND place.x = 0.5D"
        " AND place.names = array('é', 'ü')"
    )
    made = pipeline(tmp_path, "parquet", PARQUET_SCHEMA, is_right)
    found = cases(bench, made, ("right", "never"))
    assert "no record reached it" in str(found["never"])
    assert input_of(found["right"]).records == 3
    assert isinstance(found["right"], Case)
    assert trial(bench, found["right"], 1, 20.0, SHORT).rate > 0


def test_what_fails_has_nothing_to_do_with_the_others(bench: Bench, tmp_path: Path) -> None:
    """An operator after one that fails gets no input; a record of another type is not NULL."""
    (tmp_path / "records.csv").write_text("n,note\n1,one\n2,\n")
    made = pipeline(tmp_path, "csv", "n BIGINT, note STRING", "true", ", header: 'true'")
    found = cases(bench, made, ("right", "after"))
    assert "Division by zero" in str(found["after"])
    captured = input_of(found["right"])
    assert captured.records == 2
    captured.lines.write_text(json.dumps({"n": "many"}) + "\n")
    assert isinstance(found["right"], Case)
    with pytest.raises(SlotwiseError, match="'n' and the value many of the JSON token"):
        trial(bench, found["right"], 1, 20.0, SHORT)
