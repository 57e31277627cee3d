"""A program: a flow from a topic to a topic, profiled, planned, and run under look-ahead.

Its broker is that of the environment variable SERVERS.
"""

from __future__ import annotations

import json
import os

from pyspark.sql import Column, SparkSession, functions

import slotwise
from slotwise.model import FixedLoad
from slotwise.profilers.experiment import Slot
from slotwise.profilers.operators import Procedure
from tests.spark import maven

NAMES = {"at": "Austria", "de": "Germany"}
ONE_THREAD = Procedure(counts=(1,), with_costs=False)


def enrich(country: Column, amount: Column, countries: Column) -> Column:
    return functions.struct(countries[country].alias("country"), amount)


def flow() -> slotwise.Flow:
    own = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    countries = own.createDataFrame(list(NAMES.items()), "code STRING, name STRING")
    made = slotwise.Flow(
        "orders",
        kafka={"bootstrap.servers": "${env:SERVERS}"},
        jars=(str(maven.connector()),),
    )
    orders = made.read(
        "orders",
        format="kafka",
        topic="flow-orders",
        schema="number BIGINT, country STRING, amount DOUBLE",
    )
    large = orders.where("large", functions.col("amount") > 100)
    named = large.map("enrich", enrich, broadcast={"countries": countries})
    totals = named.group("per-country", by="country", total=functions.sum("amount"))
    totals.write("totals", format="kafka", topic="flow-totals", key="country")
    own.stop()
    return made


def main() -> None:
    orders = flow()
    others = [each.name for each in orders.topology.operators if each.name != "orders"]
    measured = orders.profile("orders", slot=Slot(cores=None), procedure=ONE_THREAD)["orders"]
    typed = dict.fromkeys(others, FixedLoad(cpu=0.1))
    plan = orders.plan(rate=100, latency_p99_ms=500, profiles={**typed, "orders": measured})
    summary = orders.run(plan, seconds=14, warm_up_s=4, controller="look-ahead", period_s=3)
    told = {
        "profile": type(measured).__name__,
        "in_place": summary.in_place,
        "threads": summary.threads,
        "adapted": summary.adapted is not None,
        "throughput": None if summary.seen is None else summary.seen.throughput,
        "servers_in_plan": os.environ["SERVERS"] in slotwise.spec.dump(plan.pipeline),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
