"""Why a query failed, in one sentence."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from slotwise.clock import SYSTEM, Clock, await_condition
from slotwise.spark.cluster import scheduler
from slotwise.spark.metering.meters import TaskError, task_errors
from slotwise.spark.query.levels import Layout
from slotwise.spark.query.traces import what_of_text

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
REPORTED_S = 3.0
"""The errors of a query's tasks have been reported this long after it failed."""
MOST_TASKS = 10_000
OUT_OF_MEMORY = "exited with code 52"
"""Spark's exit code of an executor that had no heap left."""
LOST = re.compile(r"ExecutorLostFailure \(executor (\S+) exited[^)]*\) Reason: (.*)")


def silence_pyspark() -> None:
    """It logs every exception with its whole Java stack, also those that become one sentence."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def why(query: StreamingQuery, spark: SparkSession, layout: Layout, clock: Clock = SYSTEM) -> str:
    """The message of the task that failed first, and its operator; of a lost executor, which one it
    was and how it ended.

    All stages of a real-time query run at once: when a task fails, those that read from it fail,
    too, and Spark may report one of these. So the other tasks' messages are looked at.
    """
    error = query.exception()
    if error is None:
        return "it was stopped"
    reported = _reported(str(error))
    first: TaskError | None = None

    def is_known() -> bool:
        nonlocal first
        first = _cause(spark, str(query.id), reported)
        return first is not None

    await_condition(is_known, REPORTED_S, clock)
    if first is not None:
        return _operator(first, spark, layout) + reason(first.message)
    told = reason(reported.message)
    if FOLLOWS.search(reported.message):  # YARN tells later that an executor was lost
        told = f"the connection to another executor was lost ({told})"
    return _operator(reported, spark, layout) + told


def _cause(spark: SparkSession, query: str, reported: TaskError) -> TaskError | None:
    """The task that failed first; None if that is not known yet."""
    if FOLLOWS.search(reported.message):
        errors = _of_job(spark, reported)
        return next((error for error in errors if not EFFECTS.search(error.message)), None)
    if reported.stage >= 0:
        return reported
    # Spark reports errors of SQL without their task, and without what caused them.
    thrown = _chain(reported.message)[0]
    same = [error for error in task_errors(spark) if thrown in _chain(error.message)]
    stages = {error.stage: scheduler(spark).stage(error.stage) for error in same}
    own = [e for e in same if (stage := stages[e.stage]) is not None and stage.query() == query]
    return own[-1] if own else None


def _reported(text: str) -> TaskError:
    """The task that Spark's message names, if any."""
    found = re.search(r"[Tt]ask (\d+)(?:\.\d+)? in stage (\d+)\.", text)
    return TaskError(int(found[2]), int(found[1]), text) if found else TaskError(-1, -1, text)


def _operator(error: TaskError, spark: SparkSession, layout: Layout) -> str:
    """Whose task it was, unless its executor was lost or that is not known."""
    stage = scheduler(spark).stage(error.stage)
    if stage is None or stage.levels() != len(layout.levels) or LOST.search(error.message):
        return ""
    if error.partition >= layout.partitions[stage.level()]:
        return ""  # of a topic that has grown
    operator, thread = layout.thread(stage.level(), error.partition)
    return f"operator '{layout.topology.operators[operator].name}', thread {thread}: "


def _of_job(spark: SparkSession, reported: TaskError) -> Iterator[TaskError]:
    """The errors of all tasks in the job of the reported one.

    Spark reports of a task only that it was killed, if that happens while it is failing; so the
    meters are asked first.
    """
    store = spark.sparkContext._jsc.sc().statusStore()
    for job in _each(store.jobsList(None)):
        stages = [int(stage) for stage in _each(job.stageIds())]
        if reported.stage not in stages:
            continue
        yield from (error for error in task_errors(spark) if error.stage in stages)
        for stage in stages:
            for task in _each(store.taskList(stage, 0, MOST_TASKS)):
                if task.errorMessage().isDefined():
                    message = str(task.errorMessage().get())
                    yield TaskError(stage, int(task.partitionId()), message)


def _each(sequence: Any) -> Iterator[Any]:
    """The elements of a Scala sequence."""
    iterator = sequence.iterator()
    while iterator.hasNext():
        yield iterator.next()


def reason(text: str) -> str:
    r"""
    >>> reason("Job aborted.\nCaused by: java.io.IOException: No space left on device\n at x")
    'No space left on device'
    >>> reason("ExecutorLostFailure (executor 0 exited) Reason: Command exited with code 52")
    'executor 0 ran out of memory: give its slot more'
    """
    if lost := LOST.search(text):
        if lost[2].strip().rstrip(".").endswith(OUT_OF_MEMORY):
            return f"executor {lost[1]} ran out of memory: give its slot more"
        return f"executor {lost[1]} was lost ({lost[2].strip().rstrip('.')})"
    if raised := what_of_text(text):
        return raised
    return _chain(text)[-1]


def _chain(text: str) -> list[str]:
    r"""What was thrown and each of its causes, without Java's classes, codes and states.

    >>> _chain("a.FileException: [NO_FILE] No file. SQLSTATE: 58030\nCaused by: a.Full: No space")
    ['No file', 'No space']
    """
    causes = re.findall(r"^\s*Caused by: (?:[\w.$]+: )?(.+)$", text, re.M)
    thrown = _first_line(text).rpartition("Exception: ")[2]
    return [_sentence(each) for each in (thrown, *causes)]


def _sentence(text: str) -> str:
    found = re.sub(r"^\[[\w.]+\] ", "", text.strip())
    return found.partition(" SQLSTATE")[0].strip().rstrip(".")


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
