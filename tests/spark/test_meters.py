from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slotwise.model import Grouping, Logic, Observation, Plan
from slotwise.spark.cluster import pinning
from slotwise.spark.metering import meters
from slotwise.spark.metering.meters import MeterSnapshot
from slotwise.spark.metering.observe import observe
from slotwise.spark.run import Run
from slotwise.spark.waiting import await_tuples
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.queries import REAL_TIME, running, three_levels
from tests.spark.running import running as running_plan
from tests.spark.test_placement import all_executors

pytestmark = pytest.mark.cluster

RECORDS = 4000
BURN_SECONDS = 20e-6


def source(records: int, expr: str | None = None) -> Logic:
    return Logic(expr=expr, options=(("records", str(records)),))


def test_counts_are_exact_and_busy_time_and_traffic_as_they_should_be(
    spark: SparkSession, tmp_path: Path
) -> None:
    pinning.place(spark, "metered", [[0], [0, 1, 2, 0], [1, 2]])
    frame = three_levels(spark, rate=2000, records=RECORDS)
    with running(frame, "metered", tmp_path, REAL_TIME) as metered:
        query = metered.query
        wait_until(lambda: sum(_of(spark, query.id, 2).values()) >= RECORDS, query=query)
        # A report of the other threads may be a second behind.
        wait_until(lambda: sum(_of(spark, query.id, 1).values()) >= RECORDS, query=query)
        seen = meters.snapshot(spark)
        placed = pinning.where(spark, "metered")
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
    _check_pairs(threads)


def _check_pairs(threads: list[meters.ThreadMeter]) -> None:
    """Record id goes from middle thread id % 4 to last thread id % 2: only these pairs exist."""
    between = {
        (thread.level, thread.partition, thread.first_receiver + i): int(tuples)
        for thread in threads
        for i, tuples in enumerate(thread.sent)
        if tuples
    }
    assert between == {(0, 0, p): RECORDS // 4 for p in range(4)} | {
        (1, p, p % 2): RECORDS // 4 for p in range(4)
    }


def _of(spark: SparkSession, query: str, level: int) -> dict[int, int]:
    """Arrivals per partition of a level."""
    return {
        thread.partition: thread.arrivals
        for thread in meters.snapshot(spark).threads
        if thread.query == query and thread.level == level
    }


def test_executors_report_their_memory(spark: SparkSession) -> None:
    executors = wait_until(lambda: all_executors(spark))
    for executor in executors:
        assert executor.memory_bytes > 50e6
        assert 0 < executor.heap_bytes < 600e6
    assert len({executor.pid for executor in executors}) == len(executors)


@contextmanager
def watching(spark: SparkSession, of: Plan, folder: Path) -> Iterator[Callable[[int], Observation]]:
    """The plan, running; call with a number of reports to see what happened up to the last one."""
    with running_plan(spark, of, folder, batch_seconds=60.0, output=None) as run:

        def observed(reports: int) -> Observation:
            def has_enough() -> bool:
                run.tick()
                return len(run.watch.history) > reports

            wait_until(has_enough, query=run.query)
            seen = run.observation()
            assert seen is not None
            return seen

        await_tuples(run)
        run.watch.forget()
        yield observed


def test_cpu_of_operators_and_slots(spark: SparkSession, tmp_path: Path) -> None:
    """A burning operator uses what it burns at least, and more than others and their slots do."""
    burning = Logic(expr="IF(burn_us(3000) > 0, value, NULL)")
    of = topology("s>a", "a>k", name="burning", logic={"a": burning})
    with watching(spark, plan(of, on=MODEL, rate=100, slots=[0, 2, 0]), tmp_path) as observed:
        seen = observed(8)
    source, burner, sink = seen.operators
    burnt = 0.003 * burner.arrival_rate
    assert burner.arrival_rate > 10
    assert burner.cpu is not None
    assert source.cpu is not None
    assert sink.cpu is not None
    assert burnt <= burner.cpu < 1.01
    assert max(source.cpu, sink.cpu) < burner.cpu
    slots = [slot.cpu for slot in seen.slots]
    assert None not in slots
    assert slots[2] >= burnt
    assert slots[1] < slots[2]  # no thread is there


def test_variation_of_service_times(spark: SparkSession, tmp_path: Path) -> None:
    """Waits of 50 and 250 ms in turn: mean 150, standard deviation 100, (100/150)² = 0.44.

    They are long, so that what a busy machine adds to them is little.
    """
    waits = "IF(wait_us({}) > 0, value, NULL)"
    logic = {
        "a": Logic(expr=waits.format("IF(id % 2 = 0, 50000, 250000)")),
        "b": Logic(expr=waits.format("150000")),
    }
    of = topology("s>a", "s>b", "a>k", "b>k", name="varying", logic=logic)
    with watching(spark, plan(of, on=MODEL, rate=4), tmp_path) as observed:
        seen = observed(12)
    _, varying, constant, _ = seen.operators
    assert varying.service_scv == pytest.approx(0.44, abs=0.12)
    assert constant.service_scv is not None
    assert constant.service_scv < 0.1
    # What came due before the first report may still be worked off.
    assert seen.stable is not False
    assert seen.capacity is None


def test_streams_and_what_was_emitted(spark: SparkSession, tmp_path: Path) -> None:
    """`a` drops every fourth tuple; a → m goes to both threads; s → k passes the level of `a`."""
    records, began = 400, time.time()
    logic = {"s": source(records, "value"), "a": Logic(expr="IF(id % 4 = 0, NULL, value)")}
    of = topology(
        "s>a",
        "s>k",
        "a>k",
        "a>m",
        "b>k",
        "b>m:0.5",
        name="emitting",
        logic=logic | {"b": source(records)},
        groupings={"a>m": Grouping("all")},
    )
    made = plan(of, {"a": 2, "m": 2}, on=MODEL, rate=400)
    with running_plan(spark, made, tmp_path) as run:
        seen = _complete(run, began, round(records * (1 + 0.75 + 2 * 0.75 + 1 + 0.5)))
    assert seen.end_s is not None
    names = [f"{load.source}>{load.target}" for load in seen.streams]
    sent = [load.rate * seen.end_s for load in seen.streams if load.rate is not None]
    # `b` has no logic: its turns send half of its tuples to m, give or take one.
    wanted = {"s>a": 400, "s>k": 400, "a>k": 300, "a>m": 600, "b>k": 400, "b>m": 200}
    assert dict(zip(names, sent, strict=True)) == pytest.approx(wanted, abs=2)
    selectivities = [load.selectivity for load in seen.streams]
    assert selectivities[:4] == pytest.approx([1, 1, 0.75, 0.75])
    assert selectivities[4:] == pytest.approx([1, 0.5], abs=0.01)
    emitted = {
        load.operator: load.emitted_rate * seen.end_s
        for load in seen.operators
        if load.emitted_rate is not None
    }
    assert emitted == pytest.approx({"s": 800, "a": 900, "b": 600, "k": 0, "m": 0}, abs=2)


REPORTED_SECONDS = 2.0
"""Executors report each second."""


def _complete(run: Run, began: float, tuples: int) -> Observation:
    """What was counted since `began`, once so many tuples are at the end of the query, and all
    executors have reported since.
    """
    last_level = len(run.outline.layout.levels) - 1

    def complete() -> MeterSnapshot | None:
        seen = meters.snapshot(run.spark)
        own = [t for t in seen.threads if t.query == run.query.id and t.level == last_level]
        return seen if sum(thread.arrivals for thread in own) >= tuples else None

    def reported() -> MeterSnapshot | None:
        seen = meters.snapshot(run.spark)
        return seen if seen.time > at_end.time + REPORTED_SECONDS else None

    at_end = wait_until(complete, query=run.query)
    last = wait_until(reported, query=run.query)
    return observe(run.watched, [MeterSnapshot(began, (), ()), last])


def test_traffic_is_between_the_ends_of_streams_that_skip_levels(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The diamond s → a, b → j → k; s → j passes the level of a and b, and s → k that of j, too.

    Thread p of s has the ids with id % 2 = p, and names the thread of j that each goes to.
    """
    records, began = 400, time.time()
    tuples = "named_struct('value', value, 'thread', {})"
    routed, passed = tuples.format("CAST(id DIV 2 % 2 AS INT)"), tuples.format("thread")
    of = topology(
        "s>a",
        "s>b",
        "a>j",
        "b>j",
        "s>j",
        "j>k",
        "s>k",
        name="skipping",
        logic={"s": source(records, routed), **dict.fromkeys("abj", Logic(expr=passed))},
        groupings={
            "s>a": Grouping("all"),
            "s>j": Grouping("direct"),
            "j>k": Grouping("fields", ("id",)),
            "s>k": Grouping("global"),
        },
    )
    made = plan(of, {"s": 2, "a": 2, "j": 2, "k": 2}, on=MODEL, rate=400)
    with running_plan(spark, made, tmp_path) as run:
        # On a → j, b → j, s → j and so j → k: 2, 1 and 1 per record; on s → k one more.
        seen = _complete(run, began, 5 * records)
    assert seen.end_s is not None
    assert seen.thread_traffic is not None
    traffic = seen.thread_traffic
    pairs = zip(traffic.senders.tolist(), traffic.receivers.tolist(), strict=True)
    sent = dict(zip(pairs, (traffic.rates * seen.end_s).tolist(), strict=True))
    s, a, b, j, k = ([int(n), int(n) + 1] for n in made.allocation.first_thread[:-1])
    of_source = {pair: number for pair, number in sent.items() if pair[0] in s}
    assert of_source == pytest.approx(
        {(p, q): 200 for p in s for q in a}
        | {(p, b[0]): 200 for p in s}
        | {(p, q): 100 for p in s for q in j}
        | {(p, k[0]): 200 for p in s}
    )
    # Each pair of operators that exchange tuples is a stream, with all its tuples.
    owners = made.allocation.thread_operator
    between: Counter[tuple[int, int]] = Counter()
    for (sender, receiver), number in sent.items():
        between[int(owners[sender]), int(owners[receiver])] += number
    rates = [load.rate * seen.end_s for load in seen.streams if load.rate is not None]
    assert between == pytest.approx(dict(zip(of.edges, rates, strict=True)))
    assert rates == pytest.approx([800, 400, 800, 400, 400, 1600, 400])


def test_throughput_is_what_comes_out(spark: SparkSession, tmp_path: Path) -> None:
    """A wait of 20 ms handles 50 tuples/s at most; the source pushes 200/s into Spark's buffers."""
    waiting = Logic(expr="IF(wait_us(20000) > 0, value, NULL)")
    of = topology("s>a", "a>k", name="overloaded", logic={"a": waiting})
    with watching(spark, plan(of, on=MODEL, rate=200), tmp_path) as observed:
        seen = observed(12)
    assert seen.offered_rate == 200
    assert seen.throughput is not None
    assert 0 < seen.throughput <= 51
    assert seen.operators[0].arrival_rate > 2 * seen.throughput
    assert seen.stable is False
    assert seen.capacity == seen.throughput
    assert seen.bottleneck == "a"
    assert max(load.utilisation for load in seen.threads) > 2


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
    with pytest.raises(Exception, match="missing returned status 404"):
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
