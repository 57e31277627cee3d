"""Topics in, topics out, with a real broker: every record accounted for, whatever is killed."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Grouping, Logic, Plan, SlotwiseError, Topology
from slotwise.spark.metering import meters
from slotwise.spark.query.sources import OFFSET_BITS
from slotwise.spark.run import Run
from slotwise.spark.supervise import supervise
from slotwise.spark.waiting import await_tuples
from tests.spark.broker import Broker, Message
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running

pytestmark = pytest.mark.cluster

SCHEMA = "n BIGINT, country STRING, amount DOUBLE"
COUNTRIES = ("de", "fr", "it")
PARTITIONS = 3
LARGE = 100.0


class Topics:
    """Those of one test: `orders`, `large` and `totals`, with names of its own."""

    def __init__(self, spark: SparkSession, broker: Broker, test: str) -> None:
        self.spark, self.broker = spark, broker
        self.orders, self.large, self.totals = (
            broker.create(spark, f"{test}-{name}", count)
            for name, count in (("orders", PARTITIONS), ("large", 2), ("totals", 1))
        )
        self.sent = 0

    def send(self, records: int) -> None:
        made = self.spark.range(self.sent, self.sent + records, 1, 1).selectExpr(
            "to_json(named_struct('n', id, 'country', "
            "element_at(array('de', 'fr', 'it'), CAST(id % 3 AS INT) + 1), "
            "'amount', CAST(id % 200 AS DOUBLE))) AS value",
            f"CAST(id % {PARTITIONS} AS INT) AS partition",
        )
        self.broker.send(made, self.orders)
        self.sent += records

    def send_text(self, text: str) -> None:
        made = self.spark.sql(f"SELECT '{text}' AS value, 0 AS partition")
        self.broker.send(made, self.orders)

    def source(self, **also: Any) -> Logic:
        options = {"subscribe": self.orders, "startingOffsets": "earliest", **self._servers}
        given = {"schema": SCHEMA, "partitions": PARTITIONS, **also}
        return Logic(format="kafka", options=tuple(options.items()), **given)

    def sink(self, topic: str, **options: str) -> Logic:
        given = {"topic": topic, **self._servers, **options}
        return Logic(format="kafka", options=tuple(given.items()))

    @property
    def _servers(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.broker.servers}

    def pipeline(self, **source: Any) -> Topology:
        """Large orders go to one topic, and totals per country of all orders to another."""
        by_country = (("by", "country"), ("orders", "count(*)"), ("amount", "sum(amount)"))
        return topology(
            *("orders>choose", "choose>large", "orders>count", "count>totals"),
            logic={
                "orders": self.source(**source),
                "choose": Logic(expr=f"IF(amount > {LARGE}, struct(n, country), NULL)"),
                "count": Logic(aggregate=by_country, key_groups=2),
                "large": self.sink(self.large),
                "totals": self.sink(self.totals, key="country"),
            },
            groupings={"orders>count": Grouping("fields", ("country",))},
        )

    def messages(self, topic: str) -> list[Message]:
        return self.broker.messages(self.spark, topic)

    def all_large(self) -> bool:
        wanted = {n for n in range(self.sent) if n % 200 > LARGE}
        return {json.loads(each.value)["n"] for each in self.messages(self.large)} == wanted

    def check(self) -> None:
        """Every record is accounted for: repeats are recognised by their id."""
        self.check_large()
        wanted: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        for n in range(self.sent):
            wanted[COUNTRIES[n % 3]][0] += 1
            wanted[COUNTRIES[n % 3]][1] += n % 200
        wait_until(lambda: self.last_totals() == dict(wanted))

    def check_large(self) -> None:
        wait_until(self.all_large)
        orders = {
            each.partition << OFFSET_BITS | each.offset: each for each in self.messages(self.orders)
        }
        by_id = {int(each.headers["id"]): each for each in self.messages(self.large)}
        assert len(by_id) == sum(n % 200 > LARGE for n in range(self.sent))
        for id, message in by_id.items():
            order = json.loads(orders[id].value)
            assert json.loads(message.value) == {"n": order["n"], "country": order["country"]}

    def last_totals(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for each in self.messages(self.totals):
            total = json.loads(each.value)
            assert total["country"] == each.key
            found[total["country"]] = [total["orders"], total["amount"]]
        return found


@pytest.fixture
def topics(spark: SparkSession, broker: Broker, request: pytest.FixtureRequest) -> Topics:
    return Topics(spark, broker, re.sub(r"\W+", "-", request.node.name))


def planned(of: Topology, **threads: int) -> Plan:
    return plan(of, threads, on=MODEL, rate=100)


def test_every_record_reaches_its_topics_whatever_is_killed(
    topics: Topics, broker: Broker, tmp_path: Path
) -> None:
    made = planned(topics.pipeline(), orders=2, choose=2, count=2)
    topics.send(500)
    with running(topics.spark, made, tmp_path) as run:
        await_tuples(run)
        topics.send(500)
        topics.check()
        seen, all_threads = run.threads_in_place()
        assert (seen, all_threads) == (8, 8)

        victim = next(e for e in meters.snapshot(topics.spark).executors if e.slot == 1)
        os.kill(victim.pid, signal.SIGKILL)
        topics.send(500)
        wait_until(lambda: supervise(run, 1) or topics.all_large())
        topics.check()
        assert "was lost" in run.events[0]

        broker.kill()
        supervise(run, 2)
        broker.start()
        topics.send(500)
        wait_until(lambda: supervise(run, 1) or topics.all_large())
        topics.check()


def test_what_was_written_meanwhile_is_the_backlog_and_is_worked_off(
    topics: Topics, tmp_path: Path
) -> None:
    def left(run: Run) -> int | None:
        run.tick()
        last = run.watch.history.last
        state = None if last is None else last.topics.get(0)
        return None if state is None else state.left

    with running(topics.spark, planned(topics.pipeline()), tmp_path) as run:
        await_tuples(run)  # there are none: it is idle
        topics.send(300)
        wait_until(lambda: left(run) == 0 and topics.all_large(), query=run.query)
        run.query.stop()
        topics.send(700)
        wait_until(lambda: left(run) == 700)
        assert run.observe(1.0).backlog == 700
        assert run.observe(10.0).offered_rate > 10
        run.restart()
        wait_until(lambda: left(run) == 0 and run.observe(1.0).backlog == 0, query=run.query)
        topics.check()


def test_a_topic_that_grows_is_read_whole_and_told(
    topics: Topics, broker: Broker, tmp_path: Path
) -> None:
    with running(topics.spark, planned(topics.pipeline()), tmp_path) as run:
        topics.send(60)
        wait_until(lambda: run.tick() or topics.all_large(), query=run.query)
        broker.grow(topics.spark, topics.orders, PARTITIONS + 1)
        made = topics.spark.sql(
            """SELECT '{"n": 60, "country": "de", "amount": 150}' AS value, 3 AS partition"""
        )
        broker.send(made, topics.orders)
        wait_until(
            lambda: run.tick() or any('"n":60' in m.value for m in topics.messages(topics.large)),
            query=run.query,
        )
        wait_until(
            lambda: run.tick() or any("has 4 partitions now" in each for each in run.events),
            query=run.query,
        )


def test_what_does_not_parse_and_what_fails_are_dead_letters(
    topics: Topics, broker: Broker, tmp_path: Path
) -> None:
    letters = broker.create(topics.spark, f"{topics.orders}-dead")
    of = changed(topics.pipeline(on_error="skip"), "choose", on_error="skip")
    of = replace(
        changed(of, "choose", expr=f"IF(amount > {LARGE} AND 1 DIV (n - 150) < 2, n, NULL)"),
        dead_letters=topics.sink(letters),
    )
    with running(topics.spark, planned(of), tmp_path) as run:
        for text in ("no json", '{"n": "one"}', ""):
            topics.send_text(text)
        topics.send(200)
        wait_until(lambda: run.tick() or failed(run) == 4, query=run.query)
        wait_until(lambda: len(topics.messages(letters)) == 4, query=run.query)
        wait_until(lambda: len(topics.messages(topics.large)) == 98, query=run.query)
    found = [json.loads(message.value) for message in topics.messages(letters)]
    found.sort(key=lambda letter: (letter["operator"], str(letter["record"])))
    assert [letter["operator"] for letter in found] == ["choose", *["orders"] * 3]
    assert found[0]["record"]["n"] == 150
    assert "Division by zero" in found[0]["reason"]
    texts = {letter["record"]["value"]: letter["reason"] for letter in found[1:]}
    assert set(texts) == {"no json", '{"n": "one"}', ""}
    assert texts[""].startswith("[USER_RAISED_EXCEPTION] no record in the message")
    assert all(texts.values())


def failed(run: Run) -> int:
    return sum(
        m.failures for m in meters.snapshot(run.spark).threads if m.query == str(run.query.id)
    )


def test_a_record_that_does_not_parse_ends_the_run_with_a_sentence(
    topics: Topics, tmp_path: Path
) -> None:
    topics.send_text("no json")
    with (
        pytest.raises(SlotwiseError, match="operator 'orders', thread 0: Unrecognized token 'no'"),
        running(topics.spark, planned(topics.pipeline()), tmp_path) as run,
    ):
        supervise(run, 60, tries=0)


def test_a_topic_that_cannot_be_written_ends_the_run_with_a_sentence(
    topics: Topics, tmp_path: Path
) -> None:
    tiny = {"kafka.max.request.size": "20"}
    of = topology(
        "orders>large",
        logic={"orders": topics.source(), "large": topics.sink(topics.large, **tiny)},
    )
    topics.send(3)
    with (
        pytest.raises(SlotwiseError, match=f"cannot write to topic '{topics.large}': .*20"),
        running(topics.spark, planned(of), tmp_path) as run,
    ):
        supervise(run, 60, tries=0)


def refused(topics: Topics, of: Topology, folder: Path) -> str:
    with pytest.raises(SlotwiseError) as caught, running(topics.spark, planned(of), folder):
        pass
    return str(caught.value)


def changed(of: Topology, name: str, **logic: Any) -> Topology:
    """With another logic, and other options, for one operator."""
    operators = []
    for operator in of.operators:
        if operator.name == name:
            options = {**dict(operator.logic.options), **logic.pop("options", {})}
            new = replace(operator.logic, options=tuple(options.items()), **logic)
            operators.append(replace(operator, logic=new))
        else:
            operators.append(operator)
    return replace(of, operators=tuple(operators))


def test_what_is_wrong_is_one_sentence_before_anything_starts(
    topics: Topics, tmp_path: Path
) -> None:
    of = topics.pipeline()
    nowhere = {"kafka.bootstrap.servers": "127.0.0.1:9"}
    wrong = {
        "source 'orders': there is no topic 'none'": {"options": {"subscribe": "none"}},
        "source 'orders': no broker of Kafka answers at 127.0.0.1:9 within 10 s": {
            "options": nowhere
        },
        f"source 'orders' has tasks for 2 partitions, and topic '{topics.orders}' has 3: set "
        "partitions: 3 in the source": {"partitions": 2},
        "its id is 'number', but its records have n, country, amount": {"id": "number"},
        "its field 'country' is STRING, and the tuple's id is an integer": {"id": "country"},
        "its field 'n' is": {"schema": "n STRING", "id": "n"},
        "Syntax error": {"schema": "n BIGINT country"},
    }
    for sentence, logic in wrong.items():
        assert sentence in refused(topics, changed(of, "orders", **logic), tmp_path)
    missing = changed(of, "large", options={"topic": "none"})
    assert refused(topics, missing, tmp_path) == "sink 'large': there is no topic 'none'"
    assert not (tmp_path / "checkpoint").exists()


def test_several_sinks_of_several_formats(topics: Topics, tmp_path: Path) -> None:
    files = Logic(format="json", options=(("path", str(tmp_path / "files")),))
    of = topology(
        *("orders>large", "orders>files", "orders>rest"),
        logic={"orders": topics.source(id="n"), "large": topics.sink(topics.large), "files": files},
    )
    topics.send(60)
    with running(topics.spark, planned(of), tmp_path) as run:
        wait_until(lambda: len(in_files(tmp_path / "files")) >= 60, query=run.query)
        wait_until(lambda: len(in_files(tmp_path / "out" / "rest")) >= 60, query=run.query)
    rows = in_files(tmp_path / "files")
    assert sorted(row["id"] for row in rows) == list(range(60))
    assert {row["country"] for row in rows} == set(COUNTRIES)
    assert {row["_sink"] for row in in_files(tmp_path / "out" / "rest")} == {"rest"}
    assert {int(m.headers["id"]) for m in topics.messages(topics.large)} == set(range(60))


def in_files(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("batch-*.json"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def large_in_micro_batches(topics: Topics) -> Plan:
    of = topology(
        *("orders>choose", "choose>large"),
        logic={
            "orders": topics.source(),
            "choose": Logic(expr=f"IF(amount > {LARGE}, struct(n, country), NULL)"),
            "large": topics.sink(topics.large),
        },
    )
    return plan(of, {"orders": 2, "choose": 2}, on=MODEL, rate=100, engine="micro-batch")


def test_a_topic_in_micro_batches(topics: Topics, tmp_path: Path) -> None:
    made = large_in_micro_batches(topics)
    topics.send(300)
    with running(topics.spark, made, tmp_path) as run:
        await_tuples(run)
        for _ in range(2):
            topics.send(300)
            wait_until(lambda: run.tick() or topics.all_large(), query=run.query)
        topics.check_large()
        assert run.threads_in_place() == (5, 5)
        wait_until(lambda: run.tick() or run.observe(1.0).backlog == 0, query=run.query)


def test_an_empty_topic_in_micro_batches(topics: Topics, tmp_path: Path) -> None:
    made = large_in_micro_batches(topics)
    with running(topics.spark, made, tmp_path) as run:
        await_tuples(run)  # there are none: it is idle
        topics.send(300)
        wait_until(lambda: run.tick() or topics.all_large(), query=run.query)
        topics.check_large()
        assert run.threads_in_place() == (5, 5)
