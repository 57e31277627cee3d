from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slotwise.model import Logic, Schedule, SlotwiseError
from slotwise.rates import arrival_rates
from slotwise.simulation import Arrivals
from slotwise.simulation.kernels.arrivals import clock_time, sources_of
from slotwise.spark.query.outline import outline
from slotwise.spark.query.records import Records
from slotwise.spark.query.sources import points, read
from tests import builders
from tests.simulation.builders import plan as simulated_plan
from tests.spark.conftest import wait_until
from tests.spark.plans import plan, topology
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
        # Until its first batch is done, rows of the one that was cut short may be among them.
        wait_until(
            lambda: again.query.lastProgress and len(again.ids) >= RECORDS, query=again.query
        )
        assert again.query.id == once.query.id
    assert sorted(again.ids) == list(range(RECORDS))


def test_due_times_follow_the_schedule_and_values_the_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("a\nb\nc\n")
    schedule = points(Schedule.step(at_s=1, factor=10), rate=100)
    frame = paced(spark, **schedule, records=600, payload=f"file({lines})")
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
    "schedule",
    [
        Schedule.ramp(0.5, 2, 4),
        Schedule.sine(0.5, 0.9),
        Schedule.burst(0.4, 0.1, 5),
        Schedule(((0.0, 0.0), (0.2, 0.0), (0.2, 2.0)), period_s=0.3),
    ],
    ids=["ramp", "sine", "burst", "pause"],
)
def test_due_times_are_those_of_the_simulator(
    spark: SparkSession, tmp_path: Path, schedule: Schedule
) -> None:
    frame = paced(spark, **points(schedule, rate=200), records=300)
    with running(frame, "simulated", tmp_path, MICRO_BATCH) as scheduled:
        wait_until(lambda: len(scheduled.ids) >= 300, query=scheduled.query)
    found = sorted(row["ts"] for row in scheduled.rows)
    simulated = simulated_plan(builders.topology("a>b"), {})
    rates = arrival_rates(simulated.pipeline.topology, 200.0)
    sources = sources_of(simulated, rates, Arrivals("constant", schedule))
    wanted = [
        clock_time(sources.schedules[0], float(sources.periods[0]), number / 200)
        for number in range(300)
    ]
    since = [(ts - found[0]) / 1e6 for ts in found]
    assert since == pytest.approx([at - wanted[0] for at in wanted], abs=3e-6)


@pytest.mark.parametrize(
    ("given", "factor"), [(None, 10), (Schedule.constant(), 1), (Schedule.step(0, 5), 5)]
)
def test_a_spec_has_a_schedule_unless_the_run_has_one(
    spark: SparkSession, tmp_path: Path, given: Schedule | None, factor: int
) -> None:
    options = (("schedule", "step:at=0s,factor=10"), ("delay", "100ms"), ("records", "50"))
    found = outline(plan(topology("s>k", logic={"s": Logic(options=options)}), rate=50.0))
    frame = read(spark, found, 50.0, Records(), given)
    with running(frame, "of-a-spec", tmp_path, MICRO_BATCH) as started:
        wait_until(lambda: len(started.ids) >= 50, query=started.query)
    due = sorted(row["ts"] for row in started.rows)
    assert due[-1] - due[0] == pytest.approx(49e6 / (50 * factor), abs=5)


def test_a_schedule_needs_a_paced_source(spark: SparkSession) -> None:
    logic = {"s": Logic(format="rate")}
    found = outline(plan(topology("s>k", logic=logic)))
    with pytest.raises(SlotwiseError, match="a schedule needs a paced source"):
        read(spark, found, 50.0, Records(), Schedule.constant())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "the paced source needs the option 'points'"),
        ({"points": "fast"}, "invalid point 'fast': expected SECONDS:RATE"),
        ({"points": "0:1", "period": "0"}, "invalid period '0': it must not end before"),
        ({"rate": 1, "partitions": 0}, "invalid partitions '0': expected an integer >= 1"),
        ({"rate": 1, "arrivals": "now"}, "invalid arrivals 'now': expected constant or poisson"),
        ({"rate": 1, "payload": "file(/no/such)"}, "cannot read payload file /no/such"),
    ],
)
def test_invalid_options_are_refused_by_load(
    spark: SparkSession, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(Exception) as refused:
        paced(spark, **options)
    assert sentence in str(refused.value)
