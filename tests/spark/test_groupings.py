"""Groupings on a real cluster: which thread got what."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import Grouping, Logic
from slotwise.spark.metering import meters
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RECORDS = 6000
WEIGHTS = (0.5, 0.3, 0.2)
KINDS = {
    "shuffle": Grouping(),
    "fields": Grouping("fields", ("value",)),
    "all": Grouping("all"),
    "global": Grouping("global"),
    "direct": Grouping("direct"),
    "weighted": Grouping("weighted"),
    "local-or-shuffle": Grouping("local-or-shuffle"),
}


@pytest.fixture(scope="module")
def rows(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, Any]]]:
    """One query with a stream of each grouping to a sink of three threads, one in each slot."""
    folder: Path = tmp_path_factory.mktemp("groupings")
    record = "named_struct('value', CAST(id % 20 AS STRING), 'thread', CAST(id % 3 AS INT))"
    of = topology(
        *(f"s>{name}" for name in KINDS),
        logic={"s": Logic(expr=record, options=(("records", str(RECORDS)),))},
        groupings={f"s>{name}": grouping for name, grouping in KINDS.items()},
    )
    made = plan(
        of,
        dict.fromkeys(KINDS, 3),
        on=MODEL,
        rate=3000,
        weights={"weighted": WEIGHTS},
        slots=[1] + [0, 1, 2] * len(KINDS),
    )
    with running(spark, made, folder) as run:
        expected = RECORDS * (len(KINDS) + 2)
        wait_until(lambda: len(written(folder)) >= expected, query=run.query)
    found = defaultdict(list)
    for row in written(folder):
        found[row["_sink"]].append(row)
    return found


def test_nothing_is_lost_or_doubled(rows: dict[str, list[dict[str, Any]]]) -> None:
    for name in KINDS:
        copies = 3 if name == "all" else 1
        counts = Counter(row["id"] for row in rows[name])
        assert counts == dict.fromkeys(range(RECORDS), copies), name


def test_shares(rows: dict[str, list[dict[str, Any]]]) -> None:
    for name, shares in (("shuffle", (1 / 3,) * 3), ("weighted", WEIGHTS)):
        counts = Counter(row["_thread"] for row in rows[name])
        for thread, share in enumerate(shares):
            assert counts[thread] / RECORDS == pytest.approx(share, abs=0.01), name


def test_a_key_goes_to_one_thread(rows: dict[str, list[dict[str, Any]]]) -> None:
    threads = defaultdict(set)
    for row in rows["fields"]:
        threads[row["value"]].add(row["_thread"])
    assert len(threads) == 20
    assert {len(found) for found in threads.values()} == {1}


def test_all_reach_every_thread(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert Counter(row["_thread"] for row in rows["all"]) == dict.fromkeys(range(3), RECORDS)


def test_global_direct_and_local(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert {row["_thread"] for row in rows["global"]} == {0}
    assert all(row["_thread"] == row["id"] % 3 for row in rows["direct"])
    # The source is in slot 1, where thread 1 is.
    assert {row["_thread"] for row in rows["local-or-shuffle"]} == {1}


def test_a_direct_thread_that_does_not_exist_ends_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    of = topology(
        "s>a",
        logic={"s": Logic(expr="named_struct('thread', 7)")},
        groupings={"s>a": Grouping("direct")},
    )
    with running(spark, plan(of, {"a": 2}, on=MODEL), tmp_path) as run:
        wait_until(lambda: not run.query.isActive)
        assert "no such thread of a: 7; it has 2" in run.failure


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_an_expression_that_throws_on_one_record(
    spark: SparkSession, tmp_path: Path, policy: str
) -> None:
    logic = Logic(expr="CAST(100 DIV (id - 50) AS STRING)", on_error=policy)  # type: ignore[arg-type]
    source = Logic(options=(("records", "200"),))
    of = topology("s>a", "a>k", logic={"s": source, "a": replace(logic)})
    with running(spark, plan(of, on=MODEL, rate=1000), tmp_path) as run:
        if policy == "fail":
            wait_until(lambda: not run.query.isActive)
            assert run.failure.startswith("operator 'a', thread 0: Division by zero")
            return
        wait_until(lambda: len(written(tmp_path)) >= 199, query=run.query)
        assert {row["id"] for row in written(tmp_path)} == set(range(200)) - {50}

        def counted() -> bool:
            threads = meters.snapshot(spark).threads
            return sum(t.failures for t in threads if t.query == str(run.query.id)) == 1

        wait_until(counted)
