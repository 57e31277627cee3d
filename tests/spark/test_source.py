from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import wait_until
from tests.spark.queries import MICRO_BATCH, REAL_TIME, paced, running

pytestmark = pytest.mark.cluster

RECORDS = 3000


@pytest.mark.parametrize("trigger", [REAL_TIME, MICRO_BATCH], ids=["real-time", "micro-batch"])
def test_no_id_is_lost_or_doubled_over_a_restart_with_other_partitions(
    spark: SparkSession, tmp_path: Path, trigger: dict[str, str]
) -> None:
    """The rows of a batch that the stop cut short are not there; those of the batch run again are,
    under the same file names.
    """
    options = {"rate": 1000, "arrivals": "poisson", "seed": 3, "records": RECORDS}
    with running(paced(spark, partitions=2, **options), "once", tmp_path, trigger) as once:
        wait_until(lambda: once.ids, query=once.query)
    with running(paced(spark, partitions=3, **options), "again", tmp_path, trigger) as again:
        wait_until(lambda: len(again.ids) >= RECORDS, query=again.query)
        assert again.query.id == once.query.id
    assert sorted(again.ids) == list(range(RECORDS))


def test_due_times_follow_the_schedule_and_values_the_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("a\nb\nc\n")
    schedule = "steps(100@0s, 1000@1s)"
    frame = paced(spark, schedule=schedule, records=600, payload=f"file({lines})")
    with running(frame, "scheduled", tmp_path, MICRO_BATCH) as scheduled:
        wait_until(lambda: len(scheduled.ids) >= 600, query=scheduled.query)
    rows = sorted(scheduled.rows, key=lambda row: row["id"])
    assert [row["id"] for row in rows] == list(range(600))
    since = [row["ts"] - rows[0]["ts"] for row in rows]
    assert since[50] == 500_000
    assert since[100] == 1_000_000
    assert since[599] == 1_000_000 + 499_000
    assert [row["value"] for row in rows[:4]] == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "wants either a rate or a schedule"),
        ({"rate": 1, "schedule": "constant(1)"}, "wants either a rate or a schedule"),
        ({"rate": "fast"}, "rate is 'fast': write a number above 0"),
        ({"rate": 1, "partitions": 0}, "partitions is '0': write a whole number from 1"),
        ({"rate": 1, "arrivals": "now"}, "arrivals 'now': write constant or poisson"),
        ({"rate": 1, "payload": "file(/no/such)"}, "payload file /no/such cannot be read"),
        ({"schedule": "up(1)"}, "schedule 'up(1)' is not understood"),
    ],
)
def test_wrong_options_are_refused_by_load(
    spark: SparkSession, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Exception) as refused:
        paced(spark, **options)
    assert sentence in str(refused.value)
