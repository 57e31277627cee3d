"""A Kafka pipeline as Slotwise runs it, and the same in plain PySpark, by turns in one session.

    python -m benchmarks.kafka

A topic, five operators with a join and an aggregate, two topics; broker, generator and an embedded
cluster of two slots on this machine. Both get 5,000 records/s, then a topic full of records.
Latency is from when a record was due to when the broker has appended what it caused. Plain PySpark
needs a query for each topic that it writes; Spark has the same settings for both.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from pyspark.sql import DataFrame, SparkSession, functions
from tests import builders
from tests.spark import broker as kafka
from tests.spark import maven
from tests.spark.conftest import wait_until
from tests.spark.plans import plan, topology

from slotwise.cli.output import note, show
from slotwise.model import Grouping, Join, Logic, Plan
from slotwise.report.tables import table
from slotwise.spark import cluster
from slotwise.spark.cluster import java, pinning
from slotwise.spark.metering.meters import snapshot
from slotwise.spark.query.outline import outline
from slotwise.spark.run import Options, compile_plan, start

MODEL = builders.cluster(2, 1)
THREADS_PER_SLOT = 16
PARTITIONS, RATE = 2, 5_000
WARM_UP_S, SECONDS = 25, 20
MANY = 400_000
TURNS = 2
BATCH_S = 120
SCHEMA = "number BIGINT, country STRING, amount DOUBLE"
NAMES = "country STRING, name STRING"
LARGE = 150
NOTHING = ((0.0, 0.0, 0.0), 0, 1, 0)


@dataclass(frozen=True)
class Topics:
    """Those of one run."""

    servers: str
    orders: str
    large: str
    totals: str

    def source(self) -> dict[str, str]:
        return {**self.sink(), "subscribe": self.orders, "startingOffsets": "earliest"}

    def sink(self, topic: str | None = None) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers, **({"topic": topic} if topic else {})}


@dataclass(frozen=True)
class Seen:
    """Of what a run has written."""

    records: int
    large: int
    totals: int
    lost: int
    repeated: int
    counted: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float


Way = Callable[[SparkSession, Topics, Path, Path], Iterator[None]]


@contextmanager
def as_planned(spark: SparkSession, topics: Topics, names: Path, folder: Path) -> Iterator[None]:
    """Slotwise."""
    options = Options(folder / "checkpoint", batch_seconds=BATCH_S, work="none")
    run = start(spark, compile_plan(spark, outline(_plan(topics, names)), options), options)
    try:
        yield
    finally:
        run.stop()


@contextmanager
def plain(spark: SparkSession, topics: Topics, names: Path, folder: Path) -> Iterator[None]:
    """PySpark."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    queries = []
    for number, (topic, frame) in enumerate(_frames(spark, topics, names).items()):
        name = f"plain-{topic}"
        pinning.unplace(spark, name)
        writing = frame.writeStream.format("kafka").options(**topics.sink(topic))
        writing = writing.outputMode("update").trigger(realTime=f"{BATCH_S} seconds")
        writing = writing.option("checkpointLocation", str(folder / f"plain-{number}"))
        queries.append(writing.queryName(name).start())
    try:
        yield
        assert all(query.isActive for query in queries), [query.exception() for query in queries]
    finally:
        for query in queries:
            query.stop()


def _plan(topics: Topics, names: Path) -> Plan:
    by_name = (
        *(("by", "name"), ("orders", "count(*)"), ("amount", "sum(amount)")),
        ("at", "max(ts)"),
    )
    of = topology(
        *("orders>valid", "valid>named", "named>choose", "choose>large"),
        *("named>count", "count>totals"),
        logic={
            "orders": Logic(
                format="kafka",
                options=tuple(topics.source().items()),
                schema=SCHEMA,
                partitions=PARTITIONS,
            ),
            "valid": Logic(where="amount > 0"),
            "named": Logic(join=Join(str(names), NAMES, ("country",))),
            "choose": Logic(
                expr=f"IF(amount > {LARGE}, struct(number, name, amount, ts AS at), NULL)"
            ),
            "count": Logic(aggregate=by_name, key_groups=PARTITIONS),
            "large": Logic(format="kafka", options=tuple(topics.sink(topics.large).items())),
            "totals": Logic(
                format="kafka", options=(*topics.sink(topics.totals).items(), ("key", "name"))
            ),
        },
        groupings={"named>count": Grouping("fields", ("name",))},
        name="orders",
    )
    return plan(of, {"orders": PARTITIONS}, on=MODEL, rate=RATE)


def _frames(spark: SparkSession, topics: Topics, names: Path) -> Mapping[str, DataFrame]:
    """By the topic that each is written to."""

    def named() -> DataFrame:
        read = spark.readStream.format("kafka").options(**topics.source()).load()
        parsed = functions.from_json(functions.col("value").cast("string"), SCHEMA)
        records = read.select(parsed.alias("order"), functions.expr("unix_micros(timestamp) AS at"))
        table = spark.read.format("csv").schema(NAMES).load(str(names))
        valid = records.select("order.*", "at").where("amount > 0")
        return valid.join(functions.broadcast(table), "country")

    large = named().where(f"amount > {LARGE}")
    totals = named().groupBy("name")
    totals = totals.agg(
        functions.count("*").alias("orders"),
        functions.sum("amount").alias("amount"),
        functions.max("at").alias("at"),
    )
    return {
        topics.large: large.selectExpr("to_json(struct(number, name, amount, at)) AS value"),
        topics.totals: totals.selectExpr(
            "name AS key", "to_json(struct(name, orders, amount, at)) AS value"
        ),
    }


# -- one run ----------------------------------------------------------------------------------


def _made(spark: SparkSession, broker: kafka.Broker, run: str) -> Topics:
    names = [f"{run}-{each}" for each in ("orders", "large", "totals")]
    for name, partitions in zip(names, (PARTITIONS, PARTITIONS, 1), strict=True):
        broker.create(spark, name, partitions, by_broker=not name.endswith("orders"))
    return Topics(broker.servers, *names)


def _generated(topics: Topics, records: int, rate: float) -> subprocess.Popen[bytes]:
    arguments = [topics.servers, topics.orders, PARTITIONS, records, rate]
    program = Path(__file__).parent / "Orders.java"
    return subprocess.Popen(
        [java.java(), "-cp", f"{maven.broker()}/*", str(program), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _written(spark: SparkSession, topics: Topics, topic: str) -> DataFrame:
    options = {**topics.sink(), "subscribe": topic}
    return spark.read.format("kafka").options(**options).load()


def _large_ones(spark: SparkSession, topics: Topics) -> DataFrame:
    parsed = functions.from_json(functions.col("value").cast("string"), "number BIGINT, at BIGINT")
    found = _written(spark, topics, topics.large).select(parsed.alias("order"), "timestamp")
    return found.selectExpr("order.number", "order.at", "unix_micros(timestamp) AS appended")


def _seen(spark: SparkSession, topics: Topics, records: int, warm_up_s: float) -> Seen:
    found = _large_ones(spark, topics).cache()
    began, large = found.selectExpr("coalesce(min(at), 0)", "count(*)").first() or (0, 0)
    different = found.select("number").distinct().count()
    wanted = sum(n % 200 + 0.5 > LARGE for n in range(200)) * records // 200
    after = found.where(f"at > {began + 1e6 * warm_up_s}")
    lateness = "percentile(appended - at, array(0.5, 0.95, 0.99))"
    some = after.selectExpr(lateness, "min(appended)", "max(appended)", "count(*)").first()
    quantiles, first, last, several = some if some is not None and some[3] else NOTHING
    parsed = functions.from_json(
        functions.col("value").cast("string"), "name STRING, orders BIGINT"
    )
    totals = _written(spark, topics, topics.totals).select(parsed.alias("total"))
    counted = totals.groupBy("total.name").agg(functions.max("total.orders").alias("n"))
    seen = Seen(
        records,
        large,
        totals.count(),
        lost=wanted - different,
        repeated=large - different,
        counted=counted.selectExpr("sum(n)").first()[0] or 0,  # type: ignore[index]
        per_second=several / max(last - first, 1) * 1e6 * records / wanted,
        **dict(zip(("p50_ms", "p95_ms", "p99_ms"), (q / 1000 for q in quantiles), strict=True)),
    )
    found.unpersist()
    return seen


def _is_done(spark: SparkSession, topics: Topics, records: int) -> bool:
    """All large ones, and all records in the totals."""
    seen = _seen(spark, topics, records, 0)
    return seen.lost == 0 and seen.counted == records


@dataclass(frozen=True)
class Figures:
    """Of one way in one turn."""

    at_rate: Seen
    cores: float
    """CPU that the executors used, while records came at the rate."""
    of_many: Seen


def _turn(
    spark: SparkSession, broker: kafka.Broker, way: Way, names: Path, folder: Path
) -> Figures:
    folder.mkdir()
    topics = _made(spark, broker, folder.name)
    records = RATE * (WARM_UP_S + SECONDS)
    with way(spark, topics, names, folder):  # type: ignore[attr-defined]
        generator = _generated(topics, records, RATE)
        time.sleep(WARM_UP_S)
        before, began = _cpu_seconds(spark), time.monotonic()
        assert generator.wait() == 0
        cores = (_cpu_seconds(spark) - before) / (time.monotonic() - began)
        wait_until(lambda: _is_done(spark, topics, records), seconds=120)
    at_rate = _seen(spark, topics, records, WARM_UP_S)
    many = _made(spark, broker, f"{folder.name}-many")
    assert _generated(many, MANY, 0).wait() == 0
    (folder / "many").mkdir()
    with way(spark, many, names, folder / "many"):  # type: ignore[attr-defined]
        wait_until(lambda: _is_done(spark, many, MANY), seconds=240)
    of_many = _seen(spark, many, MANY, 0)
    note(
        f"{folder.name}: {at_rate.per_second:,.0f}/s, p50 {at_rate.p50_ms:.1f} ms, "
        f"{cores:.2f} cores; a full topic at {of_many.per_second:,.0f}/s"
    )
    return Figures(at_rate, cores, of_many)


def _cpu_seconds(spark: SparkSession) -> float:
    times = [psutil.Process(each.pid).cpu_times() for each in snapshot(spark).executors]
    return sum(each.user + each.system for each in times)


# -- all of it --------------------------------------------------------------------------------


def main() -> None:
    jars = [java.classpath_jar(), *sorted(maven.connector().glob("*.jar"))]
    found: dict[str, list[Figures]] = {"Slotwise": [], "plain PySpark": []}
    ways = {"Slotwise": as_planned, "plain PySpark": plain}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slotwise-bench-")))
        (folder / "broker").mkdir()
        broker = stack.enter_context(kafka.running(folder / "broker"))
        on = stack.enter_context(cluster.embedded(MODEL, threads_per_slot=THREADS_PER_SLOT))
        spark = cluster.session(on, {"spark.jars": ",".join(map(str, jars))})
        stack.callback(spark.stop)
        names = folder / "countries.csv"
        names.write_text("".join(f"c{n},country {n}\n" for n in range(20)), encoding="utf-8")
        for turn in range(TURNS):
            for number, (name, way) in enumerate(ways.items()):
                run = folder / f"{'slotwise' if number == 0 else 'plain'}-{turn}"
                found[name].append(_turn(spark, broker, way, names, run))  # type: ignore[arg-type]
    _show(found)


def _show(found: Mapping[str, list[Figures]]) -> None:
    made = table("What", *(f">{name}" for name in found), "Required")

    def add(what: str, of: Callable[[Figures], float], form: str, required: str = "") -> None:
        cells = []
        for figures in found.values():
            each = [of(one) for one in figures]
            listed = ", ".join(format(value, form) for value in each)
            cells.append(f"{format(median(each), form)} ({listed})")
        made.add_row(what, *cells, required)

    add("records/s finished, of 5,000/s", lambda f: f.at_rate.per_second, ",.0f")
    add("p50, ms", lambda f: f.at_rate.p50_ms, ".1f", "under 30")
    add("p95, ms", lambda f: f.at_rate.p95_ms, ".1f")
    add("p99, ms", lambda f: f.at_rate.p99_ms, ".1f")
    add("CPU of the executors, cores", lambda f: f.cores, ".2f")
    add("a full topic, records/s", lambda f: f.of_many.per_second, ",.0f")
    add("records lost", lambda f: f.at_rate.lost + f.of_many.lost, ",.0f", "0")
    add("records repeated", lambda f: f.at_rate.repeated + f.of_many.repeated, ",.0f")
    missing = "records missing in the totals"
    add(missing, lambda f: f.at_rate.records - f.at_rate.counted, ",.0f", "0")
    show(made)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    note(f"{time.monotonic() - began:.0f} s in all")
