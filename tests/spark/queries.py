"""Small streaming queries to try cluster, placement, source and meters with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from slotwise.model import Schedule
from slotwise.spark.query.sources import points


def paced(spark: SparkSession, rate: float | None = None, **options: object) -> DataFrame:
    """Rows of the paced source, at a constant rate if one is given."""
    reader = spark.readStream.format("paced")
    if rate is not None:
        reader = reader.options(**points(Schedule.constant(), rate))
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load()


def three_levels(
    spark: SparkSession, middle: int = 4, last: int = 2, **options: object
) -> DataFrame:
    """Source, `middle` threads, `last` threads, metered: record id goes to thread id % threads."""
    middle_target, last_target = f"CAST(id % {middle} AS INT)", f"CAST(id % {last} AS INT)"
    return (
        paced(spark, **options)
        .selectExpr("id", f"meter_out(ts, array({middle_target})) ts", f"{middle_target} t")
        .repartitionById(middle, "t")
        .selectExpr("id", "meter_in(ts) ts")
        .selectExpr("id", "ts", "burn_us(20) + ts AS worked")
        .selectExpr("id", f"meter_out(worked, array({last_target})) - 20 ts", f"{last_target} t")
        .repartitionById(last, "t")
        .selectExpr("id", "meter_in(ts) ts")
        .selectExpr("id", "meter_out(ts) ts")
    )


@dataclass(frozen=True)
class Sunk:
    """A running query and the folder it writes its rows to, one file per partition of a batch."""

    query: StreamingQuery
    folder: Path

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Those of finished batches: while a batch ends, some of its files are already there."""
        last = self.query.lastProgress
        files = [
            file
            for file in sorted(self.folder.glob("batch-*.json"))
            if last is not None and int(file.name.split("-")[1]) <= last.batchId
        ]
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    @property
    def ids(self) -> list[int]:
        return [row["id"] for row in self.rows]


@contextmanager
def running(
    frame: DataFrame, name: str, folder: Path, trigger: Mapping[str, str]
) -> Iterator[Sunk]:
    """The query at work, its checkpoint and rows in `folder`; stopped after."""
    rows = folder / "rows"
    rows.mkdir(exist_ok=True)
    writer = (
        frame.writeStream.queryName(name)
        .outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(**trigger)
    )
    jvm: Any = frame.sparkSession.sparkContext._jvm
    writer._jwrite.foreach(jvm.org.slotwise.sink.JsonFiles(str(rows)))
    query = writer.start()
    try:
        yield Sunk(query, rows)
    finally:
        query.stop()


REAL_TIME = {"realTime": "2 seconds"}
MICRO_BATCH = {"processingTime": "500 milliseconds"}
