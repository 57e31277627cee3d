"""Work in parts as one Spark job: a task per part, its row sent back as Arrow when the task ends.

Rows travel in an accumulator and not as the job's result, because Spark hands accumulators over
task by task: what is finished is in the journal even if the job never ends. Spark counts every
successful task's update once, even if it ran twice.

Workers need Slotwise with its `spark` extra, as the driver does. With a `local` master they run
this Python.
"""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

import pyarrow as arrow
from py4j.protocol import Py4JError
from pyspark import Accumulator, AccumulatorParam, SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from slotwise.clock import SYSTEM, Clock, await_condition
from slotwise.model import SlotwiseError
from slotwise.parts import P, Part, Row
from slotwise.spark.cluster.gateway import end_java

END_WITHIN_S = 20.0

_ARROW_TYPES = {
    str: arrow.string(),
    float: arrow.float64(),
    int: arrow.int64(),
    bool: arrow.bool_(),
    list: arrow.list_(arrow.float64()),
}


def run_on_spark(parts: Sequence[P], master: str) -> Iterator[tuple[P, Row]]:
    """Each part with its row, as tasks end. Leaves no process behind, however it ends."""
    by_key = {part.key: part for part in parts}
    with _context(master) as context, ThreadPoolExecutor(1) as background:
        arrived = context.accumulator([], _Batches())
        tasks = context.parallelize(parts, len(parts))
        job = background.submit(tasks.foreach, partial(_run, arrived))
        try:
            for batch in _as_they_come(arrived, job):
                (row,) = arrow.ipc.open_stream(batch).read_all().to_pylist()
                yield by_key[row.pop("key")], row
        finally:
            context.cancelAllJobs()


class _Batches(AccumulatorParam[list[bytes]]):
    """Arrow streams, one per finished task."""

    def zero(self, value: list[bytes]) -> list[bytes]:
        return []

    def addInPlace(self, value1: list[bytes], value2: list[bytes]) -> list[bytes]:  # noqa: N802
        value1 += value2
        return value1


def _run(arrived: Accumulator[list[bytes]], part: Part) -> None:
    """On a worker."""
    row = {"key": part.key, **part.row()}
    types = [(name, _ARROW_TYPES[kind]) for name, kind in part.columns.items()]
    schema = arrow.schema([("key", arrow.string()), *types])
    batch = arrow.RecordBatch.from_pylist([row], schema=schema)
    stream = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(stream, schema) as writer:
        writer.write_batch(batch)
    arrived.add([stream.getvalue().to_pybytes()])


def _as_they_come(
    arrived: Accumulator[list[bytes]], job: Future[None], clock: Clock = SYSTEM
) -> Iterator[bytes]:
    """The job's batches so far; after the last one, the error it ended with, if any."""
    seen, is_over = 0, False

    def has_news() -> bool:
        return job.done() or len(arrived.value) > seen

    while not is_over:
        await_condition(has_news, math.inf, clock)
        is_over = job.done()
        batches = arrived.value[seen:]
        yield from batches
        seen += len(batches)
    job.result()


@contextmanager
def _context(master: str) -> Iterator[SparkContext]:
    """A Spark context of our own; what Spark logs goes to a file, for the reason of errors."""
    if SparkContext._active_spark_context is not None:
        raise SlotwiseError("this program already has a Spark session: stop it first")
    with tempfile.TemporaryFile() as log, _settings(master), _signals():
        try:
            gateway = launch_gateway(_conf(master), _streams(log))  # type: ignore[no-untyped-call]
        except (PySparkException, OSError) as error:
            raise SlotwiseError(
                f"Spark did not start ({_last_words(error, log)}): run 'slotwise doctor'"
            ) from None
        try:
            context = SparkContext(conf=_conf(master), gateway=gateway)
            yield context
        except (PySparkException, Py4JError) as error:
            raise SlotwiseError(f"Spark at {master}: {_last_words(error, log)}") from None
        finally:
            end_java(gateway, END_WITHIN_S)


def _conf(master: str) -> SparkConf:
    conf = SparkConf().setMaster(master).setAppName("slotwise")
    conf.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    return conf


@contextmanager
def _settings(master: str) -> Iterator[None]:
    """Local workers run this Python, which Spark learns only from an environment variable."""
    before = os.environ.get("PYSPARK_PYTHON")
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_PYTHON", None)
        if before is not None:
            os.environ["PYSPARK_PYTHON"] = before


@contextmanager
def _signals() -> Iterator[None]:
    """Spark installs its own handler of Ctrl-C; restore ours afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _streams(log: IO[bytes]) -> dict[str, Any]:
    debugging = os.environ.get("SLOTWISE_DEBUG")
    return {} if debugging else {"stdout": log, "stderr": subprocess.STDOUT}


def _last_words(error: Exception, log: IO[bytes]) -> str:
    """The line of Spark's many that says what happened."""
    log.seek(0)
    text = f"{error}\n{log.read().decode(errors='replace')}"
    if re.search("No module named '(slotwise|pyarrow|numba)", text):
        return "Slotwise is missing on its workers: install 'slotwise[spark]' on all of them"
    for pattern in (
        r"(Failed to connect to [^\n]*)",
        r"^(?:\w+\.)*(?:PythonException|\w*Error): .*\n(?:.*\n)*?(\w[\w.]*(?:Error|Exception): .*)",
        r"SparkException: (.*)",
        r"(?:ERROR|Exception|Error)\b:? (.*)",
    ):
        if found := re.search(pattern, text, re.MULTILINE):
            return found[1].strip()
    return str(error).strip().splitlines()[0]
