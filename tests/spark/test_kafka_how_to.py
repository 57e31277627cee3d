"""The pipeline of the how-to, as a program with a broker; the program is killed in between."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from tests.spark import counting, maven
from tests.spark.broker import Broker, Message
from tests.spark.conftest import wait_until

pytestmark = pytest.mark.cluster

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "read-and-write-kafka.md"
NAMES = {"at": "Austria", "de": "Germany", "fr": "France", "it": "Italy"}
PARTITIONS = 4


def block(name: str) -> str:
    """The file of the page with this name."""
    found = re.search(rf"```\w+ file={name}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found.group(1)


def spec(broker: Broker) -> str:
    """With this broker, and Spark's connector as the tests have it."""
    text = block("orders.yaml").replace("localhost:9092", broker.servers)
    return re.sub(r"packages: .*", f"jars: [{maven.connector()}]", text)


def send(spark: SparkSession, broker: Broker, first: int, last: int) -> None:
    countries = ", ".join(f"'{country}'" for country in NAMES)
    made = spark.range(first, last, 1, 1).selectExpr(
        f"to_json(struct(id AS number, element_at(array({countries}), CAST(id % 4 AS INT) + 1) "
        "AS country, CAST(id % 200 AS DOUBLE) AS amount)) AS value",
        f"CAST(id % {PARTITIONS} AS INT) AS partition",
    )
    broker.send(made, "orders")


@contextmanager
def program(folder: Path, text: str) -> Iterator[None]:
    """`slotwise run`; killed at the end, as with kill -9."""
    started = counting.command(folder, spec=text)
    try:
        wait_until(
            lambda: "start-up: " in counting.told(folder) or started.poll() is not None,
            seconds=150,
        )
        assert started.poll() is None, counting.told(folder)
        yield
    finally:
        started.kill()
        started.communicate()


def test_the_program_is_killed_and_started_again(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    (tmp_path / "countries.csv").write_text(block("countries.csv"), encoding="utf-8")
    for topic, partitions in (("orders", PARTITIONS), ("large-orders", 2), ("totals", 1)):
        broker.create(spark, topic, partitions)
    send(spark, broker, 0, 1000)

    def large() -> list[Message]:
        return broker.messages(spark, "large-orders")

    with program(tmp_path, spec(broker)):
        wait_until(large)
    send(spark, broker, 1000, 2000)
    with program(tmp_path, spec(broker)):
        wanted = {n for n in range(2000) if n % 200 > 100}
        wait_until(lambda: {json.loads(each.value)["number"] for each in large()} == wanted)
        wait_until(lambda: totals(spark, broker) == expected(2000))
    ids = {message.headers["id"]: json.loads(message.value)["number"] for message in large()}
    assert sorted(ids.values()) == sorted(wanted)


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
