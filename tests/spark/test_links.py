"""Tuples that go through a topic, and so back to an earlier operator."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Grouping, Logic, Operator, SlotwiseError, Stream, Topology
from slotwise.model.pipeline import Engine
from slotwise.spark.metering import meters
from slotwise.spark.supervise import supervise
from slotwise.spec import files
from tests.spark.broker import Broker
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

NUMBERS = 300


def link(spark: SparkSession, broker: Broker, topic: str, schema: str) -> Logic:
    broker.create(spark, topic, 2)
    options = (("kafka.bootstrap.servers", broker.servers), ("topic", topic))
    return Logic(format="kafka", options=options, schema=schema, partitions=2)


def halving(back: Logic) -> Topology:
    """A number goes round, halved, until it is 1. A round is written down; so is how many a number
    has taken.
    """
    return topology(
        *(
            "numbers>half",
            "half>odd",
            "odd>again:0.5",
            "again>half!",
            "half>out",
            "half>most",
            "most>k",
        ),
        logic={
            "numbers": Logic(
                expr="named_struct('n', id + 1, 'rounds', 0)", options=(("records", str(NUMBERS)),)
            ),
            "half": Logic(expr="struct(n DIV 2 AS n, rounds + 1 AS rounds)"),
            "odd": Logic(where="n > 0"),
            "again": back,
            "most": Logic(aggregate=(("by", "id % 10 AS digit"), ("most", "max(rounds)"))),
        },
        groupings={"half>most": Grouping("fields", ("id % 10",))},
        name="halving",
    )


def rows(folder: Path, sink: str) -> list[dict[str, Any]]:
    files = sorted((folder / "out" / sink).glob("batch-*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def wanted() -> Counter[tuple[int, int]]:
    """(id, round): a number has a round for each of its binary digits."""
    return Counter(
        (id, number + 1) for id in range(NUMBERS) for number in range((id + 1).bit_length())
    )


@pytest.mark.parametrize("engine", ["real-time", "micro-batch"])
def test_a_loop_through_a_topic(
    spark: SparkSession, broker: Broker, tmp_path: Path, engine: Engine
) -> None:
    """Also while an executor is killed: repeats are recognised by id and round."""
    of = halving(link(spark, broker, f"again-{engine}", "n BIGINT, rounds INT"))
    if engine == "micro-batch":  # which cannot pass tuples through an aggregate
        of = without(of, "most", "k")
    made = plan(of, {"half": 2, "again": 2}, on=MODEL, rate=100, engine=engine)

    def rounds() -> Counter[tuple[int, int]]:
        return Counter((row["id"], row["rounds"]) for row in rows(tmp_path, "out"))

    with running(spark, made, tmp_path) as run:
        wait_until(lambda: rounds() and (supervise(run, 1) or True), query=run.query)
        if engine == "real-time":
            victim = next(e for e in meters.snapshot(spark).executors if e.slot == 1)
            os.kill(victim.pid, signal.SIGKILL)
        wait_until(lambda: supervise(run, 1) or rounds().keys() >= wanted().keys(), seconds=120)
        assert run.threads_in_place() == (sum(made.allocation.threads),) * 2
    assert rounds().keys() == wanted().keys()
    if engine == "real-time":
        most = {row["digit"]: row["most"] for row in sorted(rows(tmp_path, "k"), key=by_most)}
        digits = {digit: range(digit, NUMBERS, 10) for digit in range(10)}
        assert most == {d: max((id + 1).bit_length() for id in ids) for d, ids in digits.items()}
    else:
        assert rounds() == wanted()


def by_most(row: dict[str, Any]) -> int:
    most: int = row["most"]
    return most


def without(of: Topology, *names: str) -> Topology:
    return replace(
        of,
        operators=tuple(o for o in of.operators if o.name not in names),
        streams=tuple(s for s in of.streams if s.target not in names and s.source not in names),
    )


def test_the_loop_of_paper_5(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Frequent patterns in tweets, with the bundled spec's streams: its loop goes by a topic, and
    its rates are those that the plan expects.
    """
    of = files.load("loop").topology
    changes = Operator("changes", logic=link(spark, broker, "changes", "pattern BIGINT"))
    patterns = "transform(sequence(0, 2), k -> struct((3 * id + k) % 50 AS pattern))"
    streams = [stream for stream in of.streams if not stream.loop]
    loop = next(stream for stream in of.streams if stream.loop)
    streams += [
        replace(loop, target="changes", selectivity=0.05, grouping=Grouping(), loop=False),
        Stream("changes", "detector", grouping=loop.grouping, loop=True),
    ]
    logic = {"generator": Logic(expr=patterns, flat=True)}
    operators = [replace(o, logic=logic.get(o.name, o.logic)) for o in of.operators]
    made = plan(
        Topology("loop", (*operators, changes), tuple(streams)),
        {"detector": 3, "changes": 2},
        on=MODEL,
        rate=100,
    )
    with running(spark, made, tmp_path) as run:
        wait_until(lambda: len(written(tmp_path)) + len(rows(tmp_path, "reporter")) > 5)

        def arrivals() -> dict[str, float]:
            supervise(run, 2)
            seen = run.observation()
            return {} if seen is None else {o.operator: o.arrival_rate for o in seen.operators}

        # 100 tweets/s make 300 candidates/s; of those one in 20 goes round, to three threads.
        wait_until(lambda: arrivals().get("changes", 0) > 10, query=run.query)
        wait_until(lambda: arrivals().get("detector", 0) > 1.1 * 300, query=run.query)
        assert run.threads_in_place() == (sum(made.allocation.threads),) * 2


def test_what_comes_to_a_link_must_be_as_its_schema_says(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    back = link(spark, broker, "other-fields", "n BIGINT, round INT")
    sentence = (
        "operator 'half': it receives struct<n:bigint,rounds:int> from 'numbers' but "
        "struct<n:bigint,round:int> from 'again'"
    )
    with (
        pytest.raises(SlotwiseError, match=re.escape(sentence)),
        running(spark, plan(halving(back), on=MODEL), tmp_path),
    ):
        pass
