"""What a plan becomes on Spark, checked and told before anything runs: levels, partitions, SQL."""

from __future__ import annotations

from collections.abc import Iterator

from slotwise.spark.cluster import local
from slotwise.spark.compile import compile
from slotwise.spark.outline import Outline


def explain(outline: Outline) -> str:
    """For each level its operators, their partitions and slots, and the columns computed there."""
    return "\n".join(_lines(outline, checked_sql(outline)))


def checked_sql(outline: Outline, *, embedded: bool = True) -> tuple[tuple[str, ...], ...]:
    """Per level, the columns computed there; in a session of this process alone if there is none.
    `embedded`: on what kind of cluster it is to run then.

    Raises SlotwiseError, naming the operator, for what Spark does not accept: no cluster has to
    start for that.
    """
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        return compile(active, outline).sql
    with local(embedded=embedded) as spark:
        return compile(spark, outline).sql


def _lines(outline: Outline, sql: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    layout, plan = outline.layout, outline.plan
    slots = layout.slots(plan.placement)
    yield f"{layout.topology.name}: {len(layout.levels)} levels in {outline.mode} mode"
    for level, operators in enumerate(layout.levels):
        yield ""
        yield f"level {level}: {layout.partitions[level]} partitions"
        for operator in operators:
            first = layout.first_partition[operator]
            places = slots[level][first : first + layout.threads[operator]]
            where = ", ".join(str(plan.cluster.slot(slot)) for slot in places)
            name = layout.topology.operators[operator].name
            yield f"  {operator} {name}: partitions {first}–{first + len(places) - 1} in {where}"
        yield from (f"    {text}" for text in sql[level])
