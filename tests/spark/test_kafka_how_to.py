"""The pipeline of the how-to, as a program with a broker: both are killed while orders flow."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from tests.spark import counting, maven
from tests.spark.broker import Broker
from tests.spark.conftest import wait_until
from tests.spark.orders import Orders, flowing
from tests.spark.programs import told_by

pytestmark = pytest.mark.cluster

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "read-and-write-kafka.md"
NAMES = {"at": "Austria", "de": "Germany", "fr": "France", "it": "Italy"}
PARTITIONS = 4
EXECUTOR = "CoarseGrainedExecutorBackend"


def block(name: str) -> str:
    """The file of the page with this name."""
    found = re.search(rf"```\w+ file={name}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


def spec(broker: Broker) -> str:
    """With this broker, and Spark's connector as the tests have it."""
    text = block("orders.yaml").replace("localhost:9092", broker.servers)
    return re.sub(r"packages: .*", f"jars: [{maven.connector()}]", text)


@contextmanager
def program(folder: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """`slotwise run`; killed at the end, as with kill -9."""
    started = counting.command(folder, spec=text)
    try:
        wait_until(
            lambda: "start-up: " in counting.told(folder) or started.poll() is not None,
            seconds=150,
        )
        assert started.poll() is None, counting.told(folder)
        yield started
    finally:
        started.kill()
        started.communicate()


def test_nothing_is_lost_whatever_is_killed_while_orders_flow(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """The driver, an executor, and the broker; five operators, a join and an aggregate."""
    (tmp_path / "countries.csv").write_text(block("countries.csv"), encoding="utf-8")
    for topic, partitions in (("orders", PARTITIONS), ("large-orders", 2), ("totals", 1)):
        broker.create(spark, topic, partitions)

    def large() -> set[int]:
        found = broker.messages(spark, "large-orders")
        return {json.loads(message.value)["number"] for message in found}

    def goes_on(orders: Orders) -> None:
        """An order that was sent later than this has arrived."""
        sent = orders.sent
        wait_until(lambda: max(large(), default=-1) > sent, seconds=120)

    with flowing(spark, broker, "orders", PARTITIONS, tuple(NAMES)) as orders:
        with program(tmp_path, spec(broker)) as started:
            goes_on(orders)
            executors(started.pid)[0].kill()
            goes_on(orders)
            broker.kill()
            broker.start()
            goes_on(orders)
        with program(tmp_path, spec(broker)):
            goes_on(orders)
            orders.end()
            wanted = {n for n in range(orders.sent) if n % 200 > 100}
            wait_until(lambda: large() == wanted)
            wait_until(lambda: totals(spark, broker) == expected(orders.sent))
    found = broker.messages(spark, "large-orders")
    ids = {message.headers["id"]: json.loads(message.value)["number"] for message in found}
    assert sorted(ids.values()) == sorted(wanted)


def executors(program: int) -> list[psutil.Process]:
    children = psutil.Process(program).children(recursive=True)
    return [each for each in children if _is_executor(each)]


def _is_executor(process: psutil.Process) -> bool:
    try:
        return any(EXECUTOR in text for text in process.cmdline())
    except psutil.NoSuchProcess:  # it has just ended
        return False


def totals(spark: SparkSession, broker: Broker) -> dict[str, tuple[int, float]]:
    """The last ones."""
    found = [json.loads(each.value) for each in broker.messages(spark, "totals")]
    return {total["name"]: (total["orders"], total["amount"]) for total in found}


def expected(orders: int) -> dict[str, tuple[int, float]]:
    made = dict.fromkeys(NAMES.values(), (0, 0.0))
    for number in range(orders):
        if number % 200 > 0:
            name = list(NAMES.values())[number % 4]
            made[name] = made[name][0] + 1, made[name][1] + number % 200
    return made


def test_a_flow_is_profiled_planned_and_run_between_topics(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for topic in ("flow-orders", "flow-totals"):
        broker.create(spark, topic)
    monkeypatch.setenv("SERVERS", broker.servers)
    with flowing(spark, broker, "flow-orders", 1, ("at", "de")) as orders:
        wait_until(lambda: orders.sent > 500)  # to be profiled on
        told = told_by("flow_with_topics", tmp_path)
    assert told["profile"] == "ProfileForms"
    assert told["in_place"] == told["threads"]
    assert told["adapted"]
    assert told["throughput"] > 0
    assert not told["servers_in_plan"]
    found = [json.loads(message.value) for message in broker.messages(spark, "flow-totals")]
    assert {total["country"] for total in found} == {"Austria", "Germany"}
