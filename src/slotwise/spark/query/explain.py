"""What a plan becomes on Spark, before anything runs: levels, partitions, SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from slotwise.model import counted
from slotwise.spark.cluster import has_functions, local
from slotwise.spark.cluster.libraries import settings
from slotwise.spark.provided import named_only
from slotwise.spark.query.compile import compile
from slotwise.spark.query.outline import Outline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def explain(outline: Outline) -> str:
    """For each level its operators, their partitions and slots, and the columns computed there.

    In a session of this process alone unless slotwise has one; no cluster is started. Raises
    SlotwiseError, naming the operator, for what Spark refuses.
    """
    return "\n".join(_lines(outline, _sql(outline)))


def _sql(outline: Outline) -> tuple[tuple[str, ...], ...]:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and has_functions(active):
        return _compiled(active, outline)
    with local(settings(outline.plan.pipeline)) as spark:
        return _compiled(spark, outline)


def _compiled(spark: SparkSession, outline: Outline) -> tuple[tuple[str, ...], ...]:
    with named_only(spark, outline.layout.topology):
        return compile(spark, outline).sql


def _lines(outline: Outline, sql: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    layout, plan = outline.layout, outline.plan
    slots = layout.slots(plan.placement)
    yield f"{layout.topology.name}: {counted(len(layout.levels), 'level')} in {outline.mode} mode"
    for level, operators in enumerate(layout.levels):
        yield ""
        yield f"level {level}: {counted(layout.partitions[level], 'partition')}"
        for operator in operators:
            first, tasks = layout.first_partition[operator], layout.tasks[operator]
            places = slots[level][first : first + tasks]
            where = ", ".join(str(plan.cluster.slot(slot)) for slot in places)
            name = layout.topology.operators[operator].name
            these = f"s {first}–{first + tasks - 1}" if tasks > 1 else f" {first}"
            owners = counted(layout.threads[operator], "thread")
            groups = f", key groups of {owners}," if operator in layout.keyed else ""
            yield f"  {operator} {name}: partition{these}{groups} in {where}"
        yield from (f"    {text}" for text in sql[level])
