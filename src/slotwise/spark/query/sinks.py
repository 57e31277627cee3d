"""Where a query's output goes, and how often it commits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise.spark.query.compile import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def writer(made: Query, checkpoint: Path, batch_seconds: float, output: Path | None) -> Any:
    """Spark's DataStreamWriter for the query, ready to be named and started.

    Real-time mode commits each `batch_seconds`; micro-batches follow one another. `output` is a
    folder for JSON lines, one file per batch and thread; None: the output is discarded.
    """
    writer: Any = made.frame.writeStream.outputMode("update")
    writer = writer.option("checkpointLocation", str(checkpoint / "spark"))
    writer._jwrite.foreach(_sink(made.frame.sparkSession, output))
    if made.outline.mode == "micro-batch":
        return writer.trigger(processingTime="0 seconds")
    return writer.trigger(realTime=f"{round(batch_seconds * 1000)} milliseconds")


def _sink(spark: SparkSession, output: Path | None) -> Any:
    assert spark.sparkContext._jvm is not None
    sinks = spark.sparkContext._jvm.org.slotwise.sink
    if output is None:
        return sinks.Discard()
    output.mkdir(parents=True, exist_ok=True)
    return sinks.JsonFiles(str(output.resolve()))
