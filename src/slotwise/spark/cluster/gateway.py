"""The Java process that Python drives Spark through."""

from __future__ import annotations

from typing import Any

from slotwise.spark.cluster.processes import end_by_input


def end_java(gateway: Any, within_s: float | None = None) -> None:
    """Stop Spark's context and end its Java process; killed if that takes longer than `within_s`.

    Spark's own `stop` leaves the process running until Python ends. Afterwards this program can
    start Spark again.
    """
    from pyspark import SparkContext

    try:
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
        gateway.shutdown()
    finally:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        if gateway.proc is not None:
            end_by_input(gateway.proc, within_s)
