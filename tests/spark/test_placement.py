from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slotwise.model import SlotwiseError
from slotwise.spark import cluster
from slotwise.spark.cluster import pinning
from slotwise.spark.metering import meters
from tests.spark.conftest import THREADS_PER_SLOT, wait_until
from tests.spark.queries import MICRO_BATCH, REAL_TIME, running, three_levels

pytestmark = pytest.mark.cluster

SLOTS = 3
SHAPE = (1, 4, 2)


def random_levels(seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.randrange(SLOTS) for _ in range(width)] for width in SHAPE]


def as_seen(levels: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, levels))


def test_real_time_threads_are_where_they_should_be_and_move_at_the_next_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    first, second = random_levels(1), [[2], [2, 2, 2, 2], [2, 2]]
    pinning.place(spark, "moved", first)
    with running(three_levels(spark, rate=500), "moved", tmp_path, REAL_TIME) as moved:
        wait_until(lambda: _seen(spark, "moved") == as_seen(first), query=moved.query)
        pinning.place(spark, "moved", second)
        wait_until(lambda: _seen(spark, moved.query.id) == as_seen(second), query=moved.query)
        seen = pinning.where(spark, "moved")
        wait_until(lambda: moved.ids, query=moved.query)
    assert [task.slot for task in seen.tasks] == [task.planned for task in seen.tasks]
    assert seen.tasks[0].batch > 0
    assert seen.fall_backs == ()
    assert sorted(moved.ids) == list(range(len(moved.ids)))


def test_micro_batches_are_placed_too_and_an_unplaced_query_is_left_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    levels = random_levels(2)
    pinning.place(spark, "batched", levels)
    with running(three_levels(spark, rate=500), "batched", tmp_path, MICRO_BATCH) as batched:
        wait_until(lambda: _seen(spark, "batched") == as_seen(levels), query=batched.query)
        pinning.unplace(spark, "batched")
        wait_until(lambda: _planned(spark, "batched") == {-1}, query=batched.query)


def test_a_placement_that_does_not_fit_is_told_and_the_query_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    pinning.place(spark, "misfit", [[0], [1, 1], [2]])
    with running(three_levels(spark, rate=500), "misfit", tmp_path, MICRO_BATCH) as misfit:
        told = wait_until(lambda: pinning.where(spark, "misfit").fall_backs, query=misfit.query)
        assert "Spark places the query" in told[0].reason
        wait_until(lambda: misfit.ids, query=misfit.query)


def _seen(spark: SparkSession, query: str) -> tuple[tuple[int, ...], ...]:
    return pinning.where(spark, query).levels


def _planned(spark: SparkSession, query: str) -> set[int]:
    return {task.planned for task in pinning.where(spark, query).tasks}


def test_slots_that_do_not_exist_and_too_many_threads_are_refused(spark: SparkSession) -> None:
    with pytest.raises(SlotwiseError, match="slot 3 does not exist: the cluster has slots 0 to 2"):
        pinning.place(spark, "wrong", [[0, 3]])
    with pytest.raises(SlotwiseError, match=f"would hold {THREADS_PER_SLOT + 1} threads"):
        pinning.place(spark, "wrong", [[1] * (THREADS_PER_SLOT + 1)])


def test_a_query_never_seen_is_nowhere(spark: SparkSession) -> None:
    assert pinning.where(spark, "never") == pinning.Whereabouts((), ())


def test_a_killed_executor_is_replaced_and_its_slot_taken_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Micro-batches retry the tasks of the dead; none waits for it, no id is lost."""
    before = wait_until(lambda: all(cluster.slots(spark)) and cluster.slots(spark))
    pids = {m.executor: m.pid for m in wait_until(lambda: all_executors(spark))}
    pinning.place(spark, "bereft", [[1], [1] * 4, [1] * 2])
    frame = three_levels(spark, rate=1000, records=5000)
    with running(frame, "bereft", tmp_path, MICRO_BATCH) as bereft:
        wait_until(lambda: bereft.ids, query=bereft.query)
        os.kill(pids[before[1].executor], signal.SIGKILL)
        wait_until(lambda: sorted(bereft.ids) == list(range(5000)), query=bereft.query)
    after = wait_until(lambda: all(cluster.slots(spark)) and cluster.slots(spark))
    assert after[1].executor != before[1].executor
    assert after[1].host == before[1].host
    assert (after[0], after[2]) == (before[0], before[2])


def all_executors(spark: SparkSession) -> tuple[meters.ExecutorMeter, ...]:
    """What the executors of all slots told of themselves; empty until all have."""
    found = meters.snapshot(spark).executors
    return found if {meter.slot for meter in found} >= set(range(SLOTS)) else ()
