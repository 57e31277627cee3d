"""Why a query failed, in one sentence."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slotwise.spark.meters import task_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FOLLOWS = re.compile(
    "Connection to streaming shuffle|Failed to connect to|ClosedChannelException"
    "|Connection reset|Broken pipe"
)
"""In the message of a task that failed because the one it reads from or writes to did."""
EFFECTS = re.compile(rf"{FOLLOWS.pattern}|Interrupted|Killed|cancelled")
"""Messages of tasks that were ended because another failed, or because their query was stopped."""
TOLD_SECONDS, POLL_SECONDS = 3.0, 0.1
MOST_TASKS = 10_000
LOST = re.compile(r"ExecutorLostFailure \(executor (\S+) exited[^)]*\) Reason: (.*)")


def silence_pyspark() -> None:
    """It logs every exception with its whole Java stack, also those that are told in a sentence."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def why(query: StreamingQuery, spark: SparkSession) -> str:
    """What the task that failed first told; of a lost executor, which one and how it ended.

    All stages of a real-time query run at once: when a task fails, those that read from it fail,
    too, and Spark may report one of these. So the other tasks' messages are looked at.
    """
    error = query.exception()
    if error is None:
        return "it was stopped"
    text = str(error)
    end = time.monotonic() + TOLD_SECONDS
    while FOLLOWS.search(text) and time.monotonic() < end:
        told = (each for each in _task_errors(spark, text) if not EFFECTS.search(each))
        text = next(told, text)
        time.sleep(POLL_SECONDS)
    return reason(text)


def _task_errors(spark: SparkSession, text: str) -> Iterator[str]:
    """The messages of all failed tasks in the job of the stage that `text` names.

    Spark tells of a task only that it was killed, if that happens while it is failing; so the
    meters are asked first.
    """
    found = re.search(r"in stage (\d+)\.", text)
    if found is None:
        return
    store = spark.sparkContext._jsc.sc().statusStore()
    for job in _each(store.jobsList(None)):
        stages = [int(stage) for stage in _each(job.stageIds())]
        if int(found[1]) not in stages:
            continue
        yield from (message for stage, message in task_errors(spark) if stage in stages)
        for stage in stages:
            for task in _each(store.taskList(stage, 0, MOST_TASKS)):
                if task.errorMessage().isDefined():
                    yield str(task.errorMessage().get())


def _each(sequence: Any) -> Iterator[Any]:
    """The elements of a Scala sequence."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def reason(text: str) -> str:
    r"""
    >>> reason("Job aborted.\nCaused by: java.io.IOException: No space left on device\n at x")
    'No space left on device'
    """
    if lost := LOST.search(text):
        return f"executor {lost[1]} was lost ({lost[2].strip().rstrip('.')})"
    causes = re.findall(r"^\s*Caused by: (?:[\w.$]+: )?(.+)$", text, re.M)
    found = causes[-1] if causes else _first_line(text).rpartition("Exception: ")[2]
    found = re.sub(r"^\[[\w.]+\] ", "", found.strip())
    return found.partition(" SQLSTATE")[0].strip().rstrip(".")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
