"""Python functions on Arrow batches: the same levels and places, in micro-batches."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pyarrow
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Logic, SlotwiseError
from slotwise.spark.query.functions import functions_of
from slotwise.spark.query.micro_batch import TOOK, TOOK_TYPE, batched, output_type
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

INPUT = pyarrow.schema(
    [("id", pyarrow.int64()), ("ts", pyarrow.int64()), ("value", pyarrow.string())]
)


def shout(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    values = [value.upper() for value in batch.column("value").to_pylist()]
    return pyarrow.RecordBatch.from_arrays([pyarrow.array(values, pyarrow.string())], ["value"])


def twice(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    return pyarrow.concat_batches([batch, batch])


def slow_half(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """2 ms for every tuple; those with an odd id go no further."""
    time.sleep(0.002 * batch.num_rows)
    even = [id % 2 == 0 for id in batch.column("id").to_pylist()]
    return batch.filter(pyarrow.array(even, pyarrow.bool_()))


def wrong(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    return None


def bound(call: object) -> object:
    return functions_of(topology("s>a"), {"a": call})[1]  # type: ignore[dict-item]


def test_the_fields_are_those_of_an_empty_answer() -> None:
    assert output_type(bound(shout), INPUT).simpleString() == "struct<value:string>"  # type: ignore[arg-type]
    with pytest.raises(SlotwiseError, match=re.escape("wrong returned NoneType, not RecordBatch")):
        output_type(bound(wrong), INPUT)  # type: ignore[arg-type]


def test_rows_of_other_operators_pass() -> None:
    value = pyarrow.struct([("value", pyarrow.string())])
    schema = pyarrow.schema(
        [
            ("_operator", pyarrow.int32()),
            ("_thread", pyarrow.int32()),
            ("id", pyarrow.int64()),
            ("ts", pyarrow.int64()),
            ("_in1", value),
            ("_out1", value),
            (TOOK, TOOK_TYPE),
        ]
    )
    rows = [
        {"_operator": n, "_thread": 0, "id": n, "ts": n, "_in1": {"value": "x"} if n == 1 else None}
        for n in range(3)
    ]
    batch = pyarrow.RecordBatch.from_pylist(rows, schema=schema.remove(6).remove(5))
    found = [row for made in batched(1, shout, schema)(iter([batch])) for row in made.to_pylist()]
    assert [row[TOOK] and row[TOOK]["records"] for row in found] == [None, None, 1]
    assert [(row["id"], row["_out1"]) for row in found] == [
        (0, None),
        (2, None),
        (1, {"value": "X"}),
    ]


def test_a_plan_with_python_code_runs_in_its_slots(spark: SparkSession, tmp_path: Path) -> None:
    source = Logic(expr="concat('v', id)", options=(("records", "500"),))
    of = topology("s>a", "s>b", "a>k", "b>k", logic={"s": source})
    made = plan(of, {"a": 2, "b": 2}, on=MODEL, rate=500)
    with running(spark, made, tmp_path, bound={"a": shout, "b": twice}) as run:
        assert run.outline.mode == "micro-batch"
        wait_until(lambda: len(written(tmp_path)) >= 1500, query=run.query)
        assert run.whereabouts().levels == run.outline.layout.slots(made.placement)
    counts = Counter((row["id"], row["value"]) for row in written(tmp_path))
    assert counts == {(i, f"V{i}"): 1 for i in range(500)} | {(i, f"v{i}"): 2 for i in range(500)}


def test_python_code_is_metered_where_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    of = topology("s>a", "a>k", logic={"s": Logic(options=(("records", "400"),))})
    with running(spark, plan(of, on=MODEL, rate=200), tmp_path, bound={"a": slow_half}) as run:
        run.tick()

        def all_told() -> bool:
            run.tick()
            seen = {t.level: t for t in run.watch.history.last.threads}
            return len(seen) == 3 and (seen[1].arrivals, seen[2].arrivals) == (400, 200)

        wait_until(all_told, query=run.query)
        seen = {t.level: t for t in run.watch.history.last.threads}
        load = run.observation().operators[1]  # type: ignore[union-attr]
    assert (seen[1].arrivals, seen[1].emitted) == (400, 200)
    assert seen[1].busy_seconds >= 400 * 0.002
    assert load.service_ms > 1.9
    assert load.waiting_ms > 0
