"""Flows on a real cluster: what they compute is what plain Python computes."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Column, SparkSession, functions

from slotwise import Flow
from slotwise.model import SlotwiseError
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan
from tests.spark.running import running, written

pytestmark = pytest.mark.cluster

RECORDS = 700
COUNTRIES = ("AT", "DE", "FR")


def enriched(country: Column, amount: Column) -> Column:
    return functions.struct(functions.lower(country).alias("country"), (amount * 2).alias("amount"))


def named(country: Column, amount: Column, names: Column) -> Column:
    return functions.struct(names[country].alias("country"), "amount")


NAMES = {"at": "Austria", "de": "Germany", "fr": "France"}


def orders(flow: Flow):  # type: ignore[no-untyped-def]
    names = ", ".join(f"'{country}'" for country in COUNTRIES)
    country = f"element_at(array({names}), 1 + CAST(id % 3 AS INT)) AS country"
    return flow.read(
        "orders", expr=f"struct({country}, id % 100 AS amount)", payload="id", records=RECORDS
    )


def expected() -> dict[str, tuple[int, int]]:
    """Per country: how many large orders that are not from Austria, and twice their amounts."""
    counts, totals = Counter[str](), Counter[str]()
    for id in range(RECORDS):
        country, amount = COUNTRIES[id % 3], id % 100
        if amount > 20 and country != "AT":
            counts[NAMES[country.lower()]] += 1
            totals[NAMES[country.lower()]] += 2 * amount
    return {country: (counts[country], totals[country]) for country in counts}


def test_conditions_a_function_and_an_aggregate(spark: SparkSession, tmp_path: Path) -> None:
    flow = Flow("orders")
    names = spark.createDataFrame(list(NAMES.items()), "code STRING, name STRING")
    (
        orders(flow)
        .where("large", functions.col("amount") > 20)
        .where("abroad", lambda country: country != "AT")
        .map("enrich", enriched)
        .map("named", named, broadcast={"names": names})
        .group("per-country", by="country", n=functions.count("*"), total=functions.sum("amount"))
        .write("totals")
    )
    made = plan(flow.topology, {"large": 2, "enrich": 2, "per-country": 3}, on=MODEL, rate=700)
    last = sum(n for n, _ in expected().values())
    with running(spark, made, tmp_path, bound=flow.bound) as run:
        assert run.outline.mode == "real-time"
        wait_until(lambda: len(written(tmp_path)) >= last, query=run.query)
    rows = written(tmp_path)
    assert len(rows) == last
    found = {row["country"]: (0, 0) for row in rows}
    for row in rows:
        found[row["country"]] = max(found[row["country"]], (row["n"], row["total"]))
    assert found == expected()


def test_what_is_no_table_is_told_with_the_line(spark: SparkSession) -> None:
    twice = spark.createDataFrame([("a", 1), ("a", 2)], "code STRING, n INT")
    for table, problem in (
        (twice, "table 'names' has 2 rows with code = \"a\": use join"),
        (twice.select("code"), "table 'names' has one field: expected a key and something else"),
        ({"a": 1}, "table 'names' is a dict: expected a DataFrame"),
    ):
        with pytest.raises(SlotwiseError, match=r"line \d+: operator 'named': " + problem):
            orders(Flow("wrong")).map("named", named, broadcast={"names": table})
    with pytest.raises(SlotwiseError, match="it has no parameter 'others' for the table"):
        orders(Flow("wrong")).map("named", named, broadcast={"others": twice})
    with pytest.raises(SlotwiseError, match="broadcast is for functions"):
        orders(Flow("wrong")).map("named", "country", broadcast={"names": twice})


def test_batches_branches_and_unions(spark: SparkSession, tmp_path: Path) -> None:
    def shouted(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        values = [f"{value}!" for value in batch.column("country").to_pylist()]
        return pyarrow.RecordBatch.from_arrays([pyarrow.array(values, pyarrow.string())], ["value"])

    flow = Flow("branches")
    read = orders(flow)
    whole = read.map("country", "country")
    parts = read.flat_map("letters", "split(country, '')", selectivity=2)
    read.map("shout", shouted).union(whole, parts).write("out")
    with running(spark, plan(flow.topology, on=MODEL), tmp_path, bound=flow.bound) as run:
        assert run.outline.mode == "micro-batch"
        wait_until(lambda: len(written(tmp_path)) >= 4 * RECORDS, query=run.query)
    wanted = Counter[str]()
    for id in range(RECORDS):
        country = COUNTRIES[id % 3]
        wanted.update([f"{country}!", country, *country])
    assert Counter(row["value"] for row in written(tmp_path)) == wanted


def test_what_spark_refuses_is_told_with_the_line_of_the_operator(spark: SparkSession) -> None:
    flow = Flow("wrong")
    orders(flow).where("large", "amout > 20").write("out")
    with pytest.raises(SlotwiseError, match=r"^tests/spark/.*, line \d+: operator 'large': "):
        flow.explain(plan(flow.topology, on=MODEL))


def test_a_plan_is_explained_with_its_functions(spark: SparkSession) -> None:
    flow = Flow("told")
    orders(flow).map("enrich", enriched).write("out")
    told = flow.explain(plan(flow.topology, on=MODEL))
    assert "told: 3 levels in real-time mode" in told
    assert "_out1 = enriched(country, amount)" in told


PROGRAM = """
from pyspark.sql import SparkSession, functions

from slotwise import Flow
from slotwise.model import FixedLoad, Node, ServiceRate, SlotwiseError

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
profiles = {"s": FixedLoad(), "w": ServiceRate(1000.0), "k": FixedLoad()}
flow = Flow("own", profiles=profiles, cluster=[Node("left", 1, 1.0)], rate=10)
flow.read("s").where("w", functions.col("value") > "5").write("k")
plan = flow.plan(allocator="mba", placer="sam")
try:
    flow.explain(plan)
except SlotwiseError as error:
    print(error)
print(spark.range(3).count())
spark.stop()
print(flow.explain(plan))
"""


def test_a_session_of_the_program_itself_is_in_the_way_until_it_ends(tmp_path: Path) -> None:
    """Its Java has not our jar: another one is started."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    told = done.stdout.splitlines()
    assert told[:3] == [
        "this program already has a Spark session: stop it first",
        "3",
        "own: 3 levels in real-time mode",
    ], done.stderr
    assert "    _out1 = IF(value > '5', _in1, NULL)" in told
