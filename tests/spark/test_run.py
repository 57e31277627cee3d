"""Plans on a real cluster: every shape runs, every thread is in its slot, nothing is lost."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from slotwise.model import (
    Grouping,
    Logic,
    Observation,
    Placement,
    Plan,
    ServiceRate,
    Topology,
)
from slotwise.placers.base import PlacementProblem
from slotwise.placers.round_robin import RoundRobin
from slotwise.placers.sam import Sam
from slotwise.spark.cluster import SparkCluster
from slotwise.spark.metering import meters
from slotwise.spark.run import Run
from slotwise.spark.waiting import await_batch, await_tuples
from tests.spark.conftest import MODEL, wait_until
from tests.spark.plans import plan, topology
from tests.spark.running import running, written, written_files

pytestmark = pytest.mark.cluster


def source(records: int) -> Logic:
    return Logic(options=(("records", str(records)),))


def finished(run: Run, folder: Path, rows: int) -> list[dict[str, object]]:
    """What was written, once that many rows are there."""
    wait_until(lambda: len(written(folder)) >= rows, query=run.query)
    return written(folder)


SHAPES = {
    "linear": topology("s>a", "a>b", "b>k", name="linear"),
    "diamond": topology("s>a", "s>b", "s>c", "a>j", "b>j", "c>j", "j>k", name="diamond"),
    "star": topology("s>h", "t>h", "h>k", "h>m", name="star"),
    "skipping": topology("s>a", "a>b", "b>k", "s>k", "s>b", "a>m", name="skipping"),
    "fan-in": topology("s>a", "t>b", "a>j", "b>j", "j>k", name="fan-in"),
}
PATHS = {
    "linear": {"k": 1},
    "diamond": {"k": 3},
    "star": {"k": 2, "m": 2},
    "skipping": {"k": 3, "m": 1},
    "fan-in": {"k": 2},
}
"""How often each id comes to each sink: the number of ways from the sources."""


def with_records(of: Topology, records: int) -> Topology:
    return replace(
        of,
        operators=tuple(
            replace(o, logic=source(records)) if o.kind == "source" else o for o in of.operators
        ),
    )


def placed(of: Plan, placer: str) -> Plan:
    if placer == "random":
        slots = np.random.default_rng(7).integers(0, MODEL.slots, of.allocation.total_threads)
        made = Placement("random", of.placement.threads, slots)
    else:
        algorithm = RoundRobin() if placer == "round-robin" else Sam()
        answer = algorithm.place(PlacementProblem(of.pipeline.topology, of.allocation, MODEL))
        assert isinstance(answer, Placement)
        made = answer
    return replace(of, placement=made)


@pytest.mark.parametrize("placer", ["round-robin", "sam", "random"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_runs_with_every_thread_in_its_slot(
    spark: SparkSession, tmp_path: Path, shape: str, placer: str
) -> None:
    of = with_records(SHAPES[shape], 1000)
    made = placed(plan(of, 2, on=MODEL, rate=1000), placer)
    with running(spark, made, tmp_path) as run:
        assert run.outline.mode == "real-time"
        rows = finished(run, tmp_path, 1000 * sum(PATHS[shape].values()))
        seen = run.whereabouts()
    assert seen.levels == run.outline.layout.slots(made.placement)
    assert seen.fall_backs == ()
    counts = Counter((row["_sink"], row["id"]) for row in rows)
    assert counts == {(k, i): n for k, n in PATHS[shape].items() for i in range(1000)}


def test_200_000_ids_through_the_diamond(spark: SparkSession, tmp_path: Path) -> None:
    of = with_records(topology("s>a", "s>b", "a>j", "b>j", "j>k", name="diamond"), 200_000)
    made = plan(of, {"a": 2, "j": 2}, on=MODEL, rate=20_000)

    def lines() -> int:
        return sum(len(file.read_bytes().splitlines()) for file in written_files(tmp_path))

    with running(spark, made, tmp_path, batch_seconds=5.0) as run:
        wait_until(lambda: lines() >= 400_000, seconds=240, query=run.query)
    found = [
        int(id)
        for file in written_files(tmp_path)
        for id in re.findall(r'"id":(\d+)', file.read_text())
    ]
    assert np.array_equal(np.bincount(found), np.full(200_000, 2))


def held(spark: SparkSession, folder: Path) -> dict[str, int]:
    """What the executors and this program's Java hold, and their files in the cluster's folder."""
    pids = [executor.pid for executor in meters.snapshot(spark).executors]
    processes = [*psutil.Process().children(), *map(psutil.Process, pids)]
    return {
        "executors": len(pids),
        "threads": sum(process.num_threads() for process in processes),
        "open files": sum(process.num_fds() for process in processes),
        "files": sum(len(names) for _, _, names in os.walk(folder)),
    }


def test_twenty_new_placements_one_after_the_other(
    spark: SparkSession, embedded: SparkCluster, tmp_path: Path
) -> None:
    assert embedded.folder is not None
    made = plan(SHAPES["diamond"], {"j": 2}, on=MODEL, rate=500)
    slots = made.placement.slots
    with running(spark, made, tmp_path, batch_seconds=1.0) as run:
        await_tuples(run)
        for number in range(1, 21):
            moved = replace(made.placement, slots=(slots + number) % MODEL.slots)
            before_s, batch = run.now_s(), run.batch
            change = run.apply(replace(made, placement=moved))
            assert run.whereabouts().levels == run.outline.layout.slots(moved)
            assert change.how == "next batch"
            assert before_s < change.at_s < run.now_s()
            first = re.match(r"new placement from batch (\d+) on", run.events[-1])
            assert first is not None
            assert int(first[1]) <= batch + 2
            if number == 5:
                warm = held(spark, embedded.folder)
        # Less than one more for each change since. Spark keeps what a batch has broadcast until
        # Java collects its garbage.
        spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
        wait_until(
            lambda: all(n < warm[what] + 15 for what, n in held(spark, embedded.folder).items())
        )
        await_batch(run)
    ids = Counter(row["id"] for row in written(tmp_path))
    # Repeated ids would be replays, missing ones losses.
    assert set(ids) == set(range(max(ids) + 1))
    assert set(ids.values()) == {3}


def test_another_parallelism_goes_on_from_the_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    few, many = (plan(SHAPES["linear"], {"a": n}, on=MODEL, rate=500) for n in (1, 4))
    with running(spark, few, tmp_path) as run:
        await_tuples(run)
        change = run.apply(many)
        assert change.how == "restart"
        assert 0 < change.pause_s < change.at_s < run.now_s()
        await_batch(run)
        assert len(run.whereabouts().levels[1]) == 4
    ids = Counter(row["id"] for row in written(tmp_path))
    assert set(ids) == set(range(max(ids) + 1))
    assert set(ids.values()) == {1}


def test_after_a_restart_only_the_new_threads_count(spark: SparkSession, tmp_path: Path) -> None:
    """Partition 1 of level 1 was b's, and is the second thread of a. The source ends meanwhile."""
    records = 6_000
    of = with_records(topology("s>a", "s>b", "a>k", "b>k"), records)
    few, many = (plan(of, {"a": n}, on=MODEL, rate=500) for n in (1, 3))
    with running(spark, few, tmp_path) as run:
        await_tuples(run, 1000)
        run.advance(2)
        change = run.apply(many)
        run.advance(3)
        seen = run.observe(last_s=60)
        assert seen.start_s is not None
        assert seen.start_s > change.at_s - 2
        assert [load.operator for load in seen.threads] == ["s", "a", "a", "a", "b", "k"]
        assert seen.thread_traffic is not None
        assert set(seen.thread_traffic.senders.tolist()) == {0, 1, 2, 3, 4}
        finished(run, tmp_path, 2 * records)
        run.advance(5)
        done = run.observe(last_s=3)
        counts = [t.arrivals for t in meters.snapshot(spark).threads if t.query == run.query.id]
    # It is not held up: it has emitted all its records, some of them before the restart.
    assert (done.backlog, done.stable) == (0, None)
    assert done.operators[0].arrival_rate == 0
    taken = counts[0]
    assert 0 < taken < records
    assert [sum(counts[1:4]), counts[4], counts[5]] == [taken, taken, 2 * taken]
    assert counts[1:4] == pytest.approx([taken / 3] * 3, rel=0.02)


def test_an_aggregate_changes_its_threads_without_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its eight key groups move between slots, with their counts."""
    of = topology(
        "s>c",
        "c>k",
        logic={
            "s": Logic(expr="CAST(id % 7 AS STRING)"),
            "c": Logic(aggregate=(("by", "value"), ("n", "count(*)"))),
        },
        groupings={"s>c": Grouping("fields", ("value",))},
    )
    one, three, all_groups = (plan(of, {"c": n}, on=MODEL, rate=300) for n in (1, 3, 8))
    more_sinks = plan(of, {"c": 2, "k": 3}, on=MODEL, rate=300)
    with running(spark, one, tmp_path) as run:
        await_batch(run)
        await_tuples(run)
        for other in (three, all_groups):
            assert run.apply(other).how == "next batch"
            assert run.whereabouts().levels == run.outline.layout.slots(other.placement)
            run.advance(3)
            threads = [load for load in run.observe(60).threads if load.operator == "c"]
            assert len(threads) == other.threads["c"]
            assert sum(load.arrival_rate for load in threads) > 0
        assert run.apply(more_sinks).how == "restart"
        await_batch(run)
        assert [len(level) for level in run.whereabouts().levels] == [1, 8, 3]
    largest: Counter[str] = Counter()
    for row in written(tmp_path):
        largest[row["value"]] = max(largest[row["value"]], row["n"])
    ids = sorted(row["id"] for row in written(tmp_path))
    # Every tuple is answered once, with the count so far.
    assert ids == list(range(len(ids)))
    assert largest == Counter(str(id % 7) for id in ids)


@pytest.mark.parametrize("threads", [1, 3])
def test_keyed_counts_beside_a_passing_stream(
    spark: SparkSession, tmp_path: Path, threads: int
) -> None:
    of = topology(
        "s>c",
        "c>k",
        "s>z",
        logic={
            "s": replace(source(700), expr="CAST(id % 7 AS STRING)"),
            "c": Logic(aggregate=(("by", "value"), ("n", "count(*)"))),
        },
        groupings={"s>c": Grouping("fields", ("value",))},
    )
    with running(spark, plan(of, {"c": threads}, on=MODEL, rate=700), tmp_path) as run:
        rows = finished(run, tmp_path, 1400)
        assert run.whereabouts().levels == run.outline.layout.slots(run.plan.placement)
    counted = [row["record1"] for row in rows if row["_sink"] == "k"]
    largest = Counter()
    for count in counted:
        largest[count["value"]] = max(largest[count["value"]], count["n"])
    assert largest == {str(key): 100 for key in range(7)}
    assert sorted(row["id"] for row in rows if row["_sink"] == "z") == list(range(700))


def taken_in(seen: Observation) -> float:
    """Tuples/s of the source, which is the first operator."""
    return seen.operators[0].arrival_rate


def test_every_batch_is_observed(spark: SparkSession, tmp_path: Path) -> None:
    made = plan(with_records(SHAPES["linear"], 2000), 2, on=MODEL, rate=500)
    with running(spark, made, tmp_path, batch_seconds=2.0) as run:

        def arrived() -> int:
            """Tuples that the batches observed so far have taken in."""
            run.tick()
            seconds = {p.batchId: p.batchDuration / 1000 for p in run.query.recentProgress}
            return round(sum(taken_in(seen) * seconds[b] for b, seen in run.watch.batches.items()))

        wait_until(lambda: arrived() >= 2000, query=run.query)
        assert arrived() == 2000
        assert sorted(run.watch.batches) == list(range(len(run.watch.batches)))
        # On a cold cluster, batches may end before a tuple has come to the last operator.
        whole = (
            seen
            for _, seen in sorted(run.watch.batches.items())
            if all(load.arrival_rate > 0 for load in seen.operators)
        )
        first = next(whole)
    assert first.origin == "measured"
    assert {thread.slot for thread in first.threads} == {str(MODEL.slot(s)) for s in range(3)}
    waits = [load.waiting_ms for load in first.operators]
    assert all(wait >= 0 for wait in waits)
    # Every tuple passes every operator once: its waits and services are its way to the sink.
    assert first.latency_ms == pytest.approx(first.sojourn_ms, rel=0.1)


def test_an_overloaded_operator_shows(spark: SparkSession, tmp_path: Path) -> None:
    of = topology("s>a", "a>k", logic={"a": Logic(expr="IF(wait_us(4000) > 0, value, NULL)")})
    made = plan(of, on=MODEL, rate=1000)
    with running(spark, made, tmp_path, batch_seconds=20.0) as run:
        await_tuples(run)
        run.watch.forget()

        def enough() -> bool:
            run.tick()
            return len(run.watch.history) >= 12

        wait_until(enough, query=run.query)
        seen = run.observation()
    assert seen is not None
    assert seen.stable is False
    assert seen.bottleneck == "a"
    load = next(load for load in seen.operators if load.operator == "a")
    assert load.utilisation > 0.9
    assert load.capacity < 260
    assert load.waiting_ms == max(other.waiting_ms for other in seen.operators[1:])
    assert any("'a' is busy" in remark for remark in seen.remarks)


def test_operators_without_logic_take_their_own_time_only(
    spark: SparkSession, tmp_path: Path
) -> None:
    of = topology("s>a", "s>b", "a>k", "b>k")
    made = plan(of, on=MODEL, rate=50)
    rates = {"a": ServiceRate(200.0), "b": ServiceRate(500.0)}
    profiles = replace(
        made.pipeline.profiles, by_operator={**made.pipeline.profiles.by_operator, **rates}
    )
    made = replace(made, pipeline=replace(made.pipeline, profiles=profiles))
    with running(spark, made, tmp_path, work="wait") as run:

        def service_ms() -> dict[str, float]:
            run.tick()
            seen = run.observation()
            return {load.operator: load.service_ms for load in seen.operators} if seen else {}

        def both_have_worked() -> bool:
            return run.delivered() > 100 and {"a", "b"} <= {
                name for name, ms in service_ms().items() if ms > 0
            }

        wait_until(both_have_worked, query=run.query)
        found = service_ms()
    # A busy machine makes waits longer, never shorter.
    assert found["a"] > 4.5
    assert 1.8 < found["b"] < found["a"]
