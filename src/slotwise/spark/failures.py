"""Why a query failed, in one sentence."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FOLLOWS = "Connection to streaming shuffle"
"""In the message of a task that failed because the one it reads from did."""
EFFECTS = re.compile(rf"{FOLLOWS}|Killed|cancelled")
"""Messages of tasks that were ended because another failed, or because their query was stopped."""
TOLD_SECONDS, POLL_SECONDS, MOST_LEVELS = 3.0, 0.1, 20
LOST = re.compile(r"ExecutorLostFailure \(executor (\S+) exited[^)]*\) Reason: (.*)")


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
    while FOLLOWS in text and time.monotonic() < end:
        told = (each for each in _task_errors(spark, text) if not EFFECTS.search(each))
        text = next(told, text)
        time.sleep(POLL_SECONDS)
    return reason(text)


def _task_errors(spark: SparkSession, text: str) -> Iterator[str]:
    """The messages of all failed tasks in the stages around the one that `text` names."""
    found = re.search(r"in stage (\d+)\.", text)
    if found is None:
        return
    store = spark.sparkContext._jsc.sc().statusStore()
    for stage in range(max(0, int(found[1]) - MOST_LEVELS), int(found[1]) + MOST_LEVELS):
        tasks = store.taskList(stage, 0, 10_000).iterator()
        while tasks.hasNext():
            message = tasks.next().errorMessage()
            if message.isDefined():
                yield str(message.get())


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
