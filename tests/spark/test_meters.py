from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slotwise.spark import meters, placing
from tests.spark.conftest import wait_until
from tests.spark.queries import REAL_TIME, running, three_levels
from tests.spark.test_placement import all_executors

pytestmark = pytest.mark.cluster

RECORDS = 4000
BURN_SECONDS = 20e-6


def test_counts_are_exact_and_busy_time_and_traffic_as_they_should_be(
    spark: SparkSession, tmp_path: Path
) -> None:
    placing.place(spark, "metered", [[0], [0, 1, 2, 0], [1, 2]])
    frame = three_levels(spark, rate=2000, records=RECORDS)
    with running(frame, "metered", tmp_path, REAL_TIME) as metered:
        query = metered.query
        wait_until(lambda: sum(_of(spark, query.id, 2).values()) >= RECORDS, query=query)
        # A report of the other threads may be a second behind.
        wait_until(lambda: sum(_of(spark, query.id, 1).values()) >= RECORDS, query=query)
        seen = meters.snapshot(spark)
        placed = placing.where(spark, "metered")
    assert _of(spark, query.id, 1) == dict.fromkeys(range(4), RECORDS // 4)
    assert _of(spark, query.id, 2) == dict.fromkeys(range(2), RECORDS // 2)
    threads = [t for t in seen.threads if t.query == query.id]
    assert [t.emitted for t in threads] == [RECORDS, *[RECORDS // 4] * 4, *[RECORDS // 2] * 2]
    middle = [t for t in threads if t.level == 1]
    for thread in middle:
        assert thread.busy_seconds >= thread.arrivals * BURN_SECONDS
        assert thread.cpu_seconds >= thread.arrivals * BURN_SECONDS
    where = {(t.level, t.partition): t.executor for t in placed.tasks}
    assert all(where[t.level, t.partition] == t.executor for t in threads)
    _check_pairs([pair for pair in seen.pairs if pair.query == query.id])


def _check_pairs(pairs: list[meters.PairMeter]) -> None:
    """Record id goes from middle thread id % 4 to last thread id % 2: only these pairs exist."""
    between = {(pair.sender, pair.receiver): pair.tuples for pair in pairs if pair.level == 1}
    assert between == {(p, p % 2): RECORDS // 4 for p in range(4)}
    from_source = [pair.tuples for pair in pairs if pair.level == 0]
    assert sum(from_source) == pytest.approx(RECORDS)
    # A 5 % sample of 4,000 holds some 200 records, 50 ± 6 of each of the four receivers.
    assert all(abs(tuples - RECORDS / 4) < RECORDS / 8 for tuples in from_source)


def _of(spark: SparkSession, query: str, level: int) -> dict[int, int]:
    """Arrivals per partition of a level."""
    return {
        thread.partition: thread.arrivals
        for thread in meters.snapshot(spark).threads
        if thread.query == query and thread.level == level
    }


def test_executors_tell_their_cpu_and_memory(spark: SparkSession) -> None:
    executors = wait_until(lambda: all_executors(spark))
    for executor in executors:
        assert executor.memory_bytes > 50e6
        assert 0 < executor.heap_bytes < 600e6
        assert executor.cpu_seconds > 0
        assert executor.cpu >= 0
    assert len({executor.pid for executor in executors}) == len(executors)


@pytest.fixture
def web_page() -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path != "/missing"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_work_functions_do_their_work(spark: SparkSession, web_page: str) -> None:
    frame = spark.range(20, numPartitions=1).selectExpr(
        "id",
        "bigint(reflect('java.lang.System', 'nanoTime')) AS before",
        "burn_us(2000) + wait_us(3000) + hold_mb(5) AS worked",
        "bigint(reflect('java.lang.System', 'nanoTime')) AS after",
        f"call_url('{web_page}', 2000) AS answer",
    )
    rows = frame.collect()
    assert {row.worked for row in rows} == {5005}
    assert {row.answer for row in rows} == {"hello"}
    mean_us = sum(row.after - row.before for row in rows) / len(rows) / 1000
    assert mean_us >= 4900


def test_a_url_that_does_not_answer_fails_with_its_name(spark: SparkSession, web_page: str) -> None:
    with pytest.raises(Exception, match="missing answers 404"):
        spark.range(1).selectExpr(f"call_url('{web_page}/missing', 2000)").collect()


def test_null_in_null_out_and_a_wrong_number_of_arguments(spark: SparkSession) -> None:
    row = spark.range(1).selectExpr("burn_us(NULL) a", "meter_in(NULL) b", "meter_out(1, NULL) c")
    assert tuple(row.first()) == (None, None, 1)
    with pytest.raises(Exception, match="burn_us takes 1 arguments, not 2"):
        spark.range(1).selectExpr("burn_us(1, 2)")
    with pytest.raises(Exception, match="meter_out"):
        spark.range(1).selectExpr("meter_out(1, 'x')").collect()


def test_attempt_gives_null_where_the_expression_throws(spark: SparkSession) -> None:
    frame = spark.range(4, numPartitions=1).selectExpr("attempt(6 div (id - 2)) AS x", "id")
    assert [row.x for row in frame.collect()] == [-3, -6, None, 6]
    text = spark.range(2).selectExpr("attempt(if(id = 1, raise_error('no'), 'yes')) AS x")
    assert [row.x for row in text.collect()] == ["yes", None]
