"""Several keyed operators in one query: one after the other, and beside each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Grouping, Logic, Topology
from slotwise.model.pipeline import Engine
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RECORDS, ORDERS = 400, 200
GROUPS = 4


def keyed(*aggregate: tuple[str, str]) -> Logic:
    return Logic(aggregate=aggregate, key_groups=GROUPS)


def orders(*beside: str) -> Topology:
    """Every order comes twice. They are counted by country; the counts, by the country's zone."""
    record = (
        f"named_struct('number', id % {ORDERS}, 'country', id % 10, 'zone', id % 2, 'shop', id % 3)"
    )
    return topology(
        *("s>once", "once>countries", "countries>zones", "zones>k"),
        *beside,
        logic={
            "s": Logic(expr=record, options=(("records", str(RECORDS)),)),
            "once": Logic(distinct=("number",), key_groups=GROUPS),
            "countries": keyed(("by", "country, zone"), ("n", "count(*)")),
            "zones": keyed(("by", "zone"), ("most", "max(n)"), ("changes", "count(*)")),
            "shops": keyed(("by", "shop"), ("n", "count(*)")),
        },
        groupings={
            "s>once": Grouping("fields", ("number",)),
            "once>countries": Grouping("fields", ("country", "zone")),
            "countries>zones": Grouping("fields", ("zone",)),
            "s>shops": Grouping("fields", ("shop",)),
        },
    )


def test_in_real_time_each_answer_is_a_tuple(spark: SparkSession, tmp_path: Path) -> None:
    """Also of a query that was stopped in between and goes on from its checkpoint."""
    of = orders("s>shops", "shops>z", "s>y")
    made = plan(of, {"once": 2, "countries": 2, "zones": 2, "shops": 3}, on=MODEL, rate=100)
    with running(spark, made, tmp_path) as run:
        wait_until(lambda: run.tick() or run.batch > 0, query=run.query)
        run.query.stop()
        run.restart()
        wait_until(lambda: len(found(tmp_path, "y")) == RECORDS, query=run.query)
        wait_until(lambda: len(found(tmp_path, "k")) >= ORDERS, query=run.query)
        wait_until(lambda: len(found(tmp_path, "z")) == RECORDS, query=run.query)
        seen, threads = run.threads_in_place()
        assert seen == threads == sum(made.allocation.threads)
    zones = found(tmp_path, "k")
    assert len(zones) == ORDERS
    assert Counter(zone["zone"] for zone in zones) == {0: ORDERS // 2, 1: ORDERS // 2}
    for zone in (0, 1):
        own = [each for each in zones if each["zone"] == zone]
        assert sorted(each["changes"] for each in own) == list(range(1, ORDERS // 2 + 1))
        assert max(each["most"] for each in own) == ORDERS // 10
    shops = Counter({shop["shop"]: 0 for shop in found(tmp_path, "z")})
    for shop in found(tmp_path, "z"):
        shops[shop["shop"]] = max(shops[shop["shop"]], shop["n"])
    assert shops == Counter(id % 3 for id in range(RECORDS))


def test_with_micro_batches_the_last_answers_are_right(spark: SparkSession, tmp_path: Path) -> None:
    engine: Engine = "micro-batch"
    made = plan(orders(), {"once": 2, "zones": 2}, on=MODEL, rate=400, engine=engine)
    with running(spark, made, tmp_path) as run:
        wait_until(
            lambda: {zone["most"] for zone in last_zones(tmp_path)} == {ORDERS // 10},
            query=run.query,
        )
    assert {zone["zone"] for zone in last_zones(tmp_path)} == {0, 1}


def last_zones(folder: Path) -> list[dict[str, Any]]:
    return list({zone["zone"]: zone for zone in found(folder, "k")}.values())


def found(folder: Path, sink: str) -> list[dict[str, Any]]:
    """The tuples that came to the sink: each type of tuple is a column of its own."""
    rows = [row for row in written(folder) if row["_sink"] == sink]
    records = (
        [value for name, value in row.items() if name.startswith("record") and value]
        for row in rows
    )
    return [own[0] if own else row for own, row in zip(records, rows, strict=True)]
