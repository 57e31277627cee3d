"""Records as they arrive at operators, on a real cluster."""

from __future__ import annotations

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
from slotwise.profilers.operators import _of_input
from slotwise.spec import loads

pytestmark = pytest.mark.cluster

SHORT = Times(most_warm_up_s=1.0, measured_s=2.0)
PAID = "123456789012345678.25"
"""Too many digits for a float."""
CSV = f'n,at,paid,note\n1,2026-11-19T10:00:00.250Z,{PAID},"a, b"\n2,,0.50,\n'
FLAT = f"""\
(n = 2 OR (paid = {PAID}BD AND at = timestamp'2026-11-19 10:00:00.25Z' AND note = 'a, b'))
AND (n = 1 OR (paid = 0.5BD AND at IS NULL AND note IS NULL))"""
ROW = {"raw": b"\x00\xff", "tags": {"a": 1}, "place": {"x": 0.5, "names": ["é", "ü"]}}
TYPES = pyarrow.schema(
    {
        "raw": pyarrow.binary(),
        "tags": pyarrow.map_(pyarrow.string(), pyarrow.int32()),
        "place": pyarrow.struct({"x": pyarrow.float64(), "names": pyarrow.list_(pyarrow.string())}),
    }
)
NESTED = """\
raw = X'00FF' AND tags['a'] = 1 AND map_keys(tags) = array('a') AND place.x = 0.5D
AND place.names = array('é', 'ü')"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """Files to operators that fail on records that are not as they were; beside them, one that no
    record reaches, and one that fails on all and has another after it.
    """
    for kind in ("csv", "parquet"):
        (tmp_path / kind).mkdir()
    (tmp_path / "csv" / "records.csv").write_text(CSV)
    table = pyarrow.Table.from_pylist([ROW] * 3, TYPES)
    parquet.write_table(table, tmp_path / "parquet" / "records.parquet")
    return loads(f"""
topology:
  name: files
  operators:
    lines:
      kind: source
      format: csv
      options: {{path: {tmp_path}/csv, header: 'true'}}
      schema: "n BIGINT, at TIMESTAMP, paid DECIMAL(20,2), note STRING"
    rows:
      kind: source
      format: parquet
      options: {{path: {tmp_path}/parquet}}
      schema: "raw BINARY, tags MAP<STRING, INT>, place STRUCT<x: DOUBLE, names: ARRAY<STRING>>"
    none: {{where: "n < 0"}}
    never: {{expr: n}}
    flat: {{expr: "assert_true({FLAT})"}}
    nested: {{expr: "assert_true({NESTED})"}}
    broken: {{expr: "n / 0"}}
    after: {{expr: value}}
  streams:
    - {{from: lines, to: none}}
    - {{from: none, to: never}}
    - {{from: lines, to: flat}}
    - {{from: rows, to: nested}}
    - {{from: lines, to: broken}}
    - {{from: broken, to: after}}
profiles:
  lines: {{fixed: {{}}}}
  rows: {{fixed: {{}}}}
  none: {{service: {{rate: 10}}}}
  never: {{service: {{rate: 10}}}}
  flat: {{service: {{rate: 10}}}}
  nested: {{service: {{rate: 10}}}}
  broken: {{service: {{rate: 10}}}}
  after: {{service: {{rate: 10}}}}
cluster: [{{name: n, slots: 1, memory_gb: 1}}]
goals: {{rate: 10}}
""")


def input_of(found: Case | SlotwiseError) -> Captured:
    assert isinstance(found, Case), found
    assert found.input is not None
    return found.input


def test_records_of_files_are_replayed_typed_as_they_were(bench: Bench, pipeline: Pipeline) -> None:
    """The sources end; each operator gets what reached it, or the reason why nothing did."""
    found = cases(bench, pipeline, ("flat", "nested", "never"))
    assert "no record reached it" in str(found.pop("never"))
    for case, records in zip(found.values(), (2, 3), strict=True):
        captured = input_of(case)
        assert captured.records == records
        assert _of_input(captured)[0].startswith(f"its input is {records} records")
        assert isinstance(case, Case)
        assert trial(bench, case, 1, 20.0, SHORT).rate > 0


def test_what_fails_has_nothing_to_do_with_the_others(bench: Bench, pipeline: Pipeline) -> None:
    """An operator after one that fails gets no input; a record of another type is not NULL."""
    found = cases(bench, pipeline, ("flat", "after"))
    assert "Division by zero" in str(found["after"])
    lines = input_of(found["flat"]).lines
    assert isinstance(found["flat"], Case)
    lines.write_text(lines.read_text().replace('"n":1,', '"n":"one",'))
    with pytest.raises(SlotwiseError, match="'n' and the value one of the JSON token"):
        trial(bench, found["flat"], 1, 20.0, SHORT)
