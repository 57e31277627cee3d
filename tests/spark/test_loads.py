"""What threads, operators and streams did between two snapshots: executors report at their own
times, and counts divide as the routes do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyspark")

from slotwise.model import Grouping, Logic
from slotwise.spark.metering.counters import counters
from slotwise.spark.metering.loads import Loads, Watched
from slotwise.spark.metering.meters import MeterSnapshot, ThreadMeter
from tests.spark.plans import PASS
from tests.spark.snapshots import meter, snapshot, watched


def loads(of: Watched, first: MeterSnapshot, last: MeterSnapshot) -> Loads:
    return Loads(of, counters(of, first), counters(of, last))


def in_four_seconds(of: Watched, *counted: dict[str, object]) -> Loads:
    """Threads that had counted nothing and, 4 s later, this; in the order of levels."""
    threads = [meter(**each) for each in counted]  # type: ignore[arg-type]
    before = [meter(each.level, each.partition) for each in threads]
    return loads(of, snapshot(before, {"a": 10.0}), snapshot(threads, {"a": 14.0}))


def test_a_rate_is_over_the_time_between_its_own_reports() -> None:
    """100 tuples/s through both threads; the second executor reports 0.8 s after the first."""
    of = watched("s>k")
    first, last = (
        [
            meter(0, arrivals=sent, busy_seconds=0.004 * sent, to={1: sent}),
            meter(1, executor="b", arrivals=arrived),
        ]
        for sent, arrived in ((1000, 920), (1400, 1400))
    )
    before = snapshot(first, {"a": 10.0, "b": 9.2})
    after = snapshot(last, {"a": 14.0, "b": 14.0})
    found = loads(of, before, after)
    assert found.handled_by_thread == pytest.approx([100, 100])
    assert [load.arrival_rate for load in found.operators] == pytest.approx([100, 100])
    assert found.operators[0].utilisation == pytest.approx(0.4)
    traffic = found.traffic(before, after)
    assert traffic is not None
    assert traffic.rates == pytest.approx([100])


def test_a_thread_that_has_moved_is_counted_from_one_executor_to_the_other() -> None:
    of = watched("s>k")
    first = snapshot([meter(0, arrivals=1000)], {"a": 10.0, "b": 9.5})
    last = snapshot([meter(0, executor="b", arrivals=1350)], {"a": 14.0, "b": 13.5})
    assert loads(of, first, last).handled[0] == pytest.approx(100)


@pytest.mark.parametrize("gone", ["before", "after"])
def test_without_a_report_the_time_between_the_snapshots_counts(gone: str) -> None:
    of = watched("s>k")
    first = snapshot([] if gone == "before" else [meter(0)], {"a": 10.0})
    known = {"a": 14.0} if gone == "before" else {"b": 14.0}
    last = snapshot([meter(0, arrivals=400)], known)
    assert loads(of, first, last).handled[0] == pytest.approx(100)


def test_other_queries_do_not_count() -> None:
    of = watched("s>k")
    first = snapshot([meter(0)], {"a": 10.0})
    last = snapshot([meter(0, arrivals=40), meter(0, query="other", arrivals=999)], {"a": 14.0})
    assert loads(of, first, last).source_rate == pytest.approx(10)


def test_threads_that_the_plan_no_longer_has_do_not_count() -> None:
    """Of a batch that was repeated with fewer threads, the meters still know the others."""
    of = watched("s>k")
    first = snapshot([meter(0), meter(0, 3, arrivals=70)], {"a": 10.0})
    last = snapshot([meter(0, emitted=40), meter(0, 3, arrivals=90)], {"a": 14.0})
    assert loads(of, first, last).source_rate == 0


def traffic(of: Watched, before: list[ThreadMeter], after: list[ThreadMeter]) -> object:
    """{(sender, receiver): tuples/s} in 4 s."""
    first, last = snapshot(before, {"a": 10.0}), snapshot(after, {"a": 14.0})
    found = loads(of, first, last).traffic(first, last)
    if found is None:
        return None
    pairs = zip(found.senders.tolist(), found.receivers.tolist(), strict=True)
    return dict(zip(pairs, found.rates.tolist(), strict=True))


def test_a_stream_over_several_levels_is_between_the_threads_at_its_ends() -> None:
    """Threads s 0, a 1 and 2, k 3 and 4. What is for k passes the level of a."""
    of = watched("s>a", "a>k", "s>k", threads={"a": 2, "k": 2})
    sent = [meter(0, to={1: 200, 2: 200, 3: 300, 4: 100}), meter(1, 1, to={3: 80})]
    wanted = {(0, 1): 50, (0, 2): 50, (0, 3): 75, (0, 4): 25, (2, 3): 20}
    assert traffic(of, [], sent) == pytest.approx(wanted)


def test_traffic_is_divided_as_in_the_window() -> None:
    """The key that went to thread 1 has ceased; above 20,000/s not all tuples are looked at."""
    of = watched("s>a", threads={"a": 2})
    before = [meter(0, to={1: 1_000_000})]
    after = [meter(0, to={1: 1_000_000, 2: 98_304}, emitted=1_100_000)]
    assert traffic(of, before, after) == {(0, 2): 25_000}


def test_traffic_with_receivers_that_nobody_looked_at_is_not_known() -> None:
    of = watched("s>a", "a>k")
    assert traffic(of, [], [meter(0, to={1: 40}), meter(1, emitted=40)]) is None
    assert traffic(of, [], [meter(0)]) == {}


def test_results_of_an_aggregate_that_feeds_nobody_are_no_traffic() -> None:
    """Tasks 1 to 8 are its key groups."""
    logic = {"c": Logic(aggregate=(("by", "value"), ("n", "count(*)")))}
    of = watched("s>c", "s>z", logic=logic)
    sent = [meter(0, to={1: 40, 9: 40}), meter(1, to={1: 40}), meter(2, emitted=80)]
    assert traffic(of, [], sent) == {(0, 1): 10, (0, 2): 10}


def test_key_groups_count_for_the_thread_that_has_them() -> None:
    """Of eight groups, the first of two threads has 0 to 3; k's task has the number 9."""
    logic = {"c": Logic(aggregate=(("by", "value"), ("n", "count(*)")))}
    of = watched("s>c", "c>k", logic=logic, threads={"c": 2})
    groups = [
        meter(1, group, arrivals=40 * (group + 1), cpu_seconds=0.1, to={9: 4 * (group + 1)})
        for group in range(8)
    ]
    source = meter(0, to={1 + group: 40 * (group + 1) for group in range(8)})
    found = loads(of, snapshot([], {"a": 10.0}), snapshot([source, *groups], {"a": 14.0}))
    assert found.handled_by_thread[1:3] == pytest.approx([100, 260])
    assert found.busy_by_thread[1:3] == pytest.approx([0.1, 0.1])
    assert found.operators[1].arrival_rate == pytest.approx(360)
    wanted = {(0, 1): 100, (0, 2): 260, (1, 3): 10, (2, 3): 26}
    assert traffic(of, [], [source, *groups]) == pytest.approx(wanted)


def test_service_time_and_its_variation() -> None:
    """Of four tuples, two took 1 ms and two 3 ms: mean 2 ms, variance 1 ms²."""
    of = watched("s>a", "a>k")
    took = {"timed": 4, "busy_seconds": 8e-3, "busy_squared": 20e-6}
    found = in_four_seconds(of, {"level": 1, "arrivals": 4, **took}).operators[1]
    assert found.service_ms == pytest.approx(2)
    assert found.service_scv == pytest.approx(0.25)
    assert found.capacity == pytest.approx(500)


def test_times_of_a_batch_have_a_mean_but_no_variation() -> None:
    of = watched("s>a", "a>k")
    found = in_four_seconds(of, {"level": 1, "arrivals": 10, "busy_seconds": 0.2}).operators[1]
    assert found.service_ms == pytest.approx(20)
    assert found.service_scv is None


def test_what_is_not_known_is_none() -> None:
    found = in_four_seconds(watched("s>a", "a>k"), {"level": 0}).operators[1]
    assert (found.capacity, found.service_ms, found.waiting_ms) == (None, None, None)
    assert (found.service_scv, found.network_ms, found.queue) == (None, None, None)
    assert (found.arrival_rate, found.utilisation, found.cpu) == (0.0, 0.0, 0.0)


def test_failures_are_not_losses() -> None:
    found = in_four_seconds(watched("s>k"), {"level": 0, "arrivals": 40, "failures": 3})
    assert (found.operators[0].failed, found.operators[0].lost) == (3, 0)


def test_cpu_is_cores_in_use_by_all_threads() -> None:
    of = watched("s>a", "a>k", threads={"a": 2})
    threads = ({"level": 1, "partition": k, "cpu_seconds": 1.0 + k} for k in range(2))
    assert in_four_seconds(of, *threads).operators[1].cpu == pytest.approx(0.75)


def test_an_aggregate_is_busy_while_it_uses_the_cpu() -> None:
    logic = {"c": Logic(aggregate=(("by", "value"), ("n", "count(*)")))}
    of = watched("s>c", "c>k", logic=logic)
    counted = {"arrivals": 100, "timed": 100, "busy_seconds": 1e-5, "cpu_seconds": 2.0}
    found = in_four_seconds(of, {"level": 1, **counted}).operators[1]
    assert found.utilisation == pytest.approx(0.5)
    assert found.service_ms == pytest.approx(20)
    assert found.service_scv is None


def test_a_micro_batch_aggregate_handles_what_was_sent_to_it() -> None:
    """It answers once per group: 8 answers for 400 tuples."""
    logic = {"c": Logic(aggregate=(("by", "value"), ("n", "count(*)")))}
    of = watched("s>c", "c>k", logic=logic, threads={"c": 2}, mode="micro-batch")
    answered = (
        {"level": 1, "partition": k, "arrivals": n, "emitted": n} for k, n in ((3, 6), (4, 2))
    )
    source = {"level": 0, "arrivals": 400, "emitted": 400}
    found = in_four_seconds(of, source, *answered, {"level": 2, "arrivals": 8})
    assert found.handled == pytest.approx([100, 100, 2])
    assert found.handled_by_thread[1:3] == pytest.approx([75, 25])
    assert [stream.selectivity for stream in found.streams] == pytest.approx([1, 0.02])


def test_streams_divide_what_their_source_emits() -> None:
    """An operator with logic sends each of its tuples on all its streams, to all threads of one."""
    of = watched(
        "s>a",
        "s>b:0.5",
        "a>k",
        "b>k",
        logic={"s": PASS},
        groupings={"s>b": Grouping("all")},
        threads={"b": 3},
    )
    found = in_four_seconds(of, {"level": 0, "arrivals": 400, "emitted": 800})
    # Half of its tuples are filtered out: 200 go to a, and 200 to each of three threads of b.
    assert [stream.rate for stream in found.streams] == pytest.approx([50, 150, 0, 0])
    assert [stream.selectivity for stream in found.streams][:2] == pytest.approx([0.5, 0.5])
    assert [stream.selectivity for stream in found.streams][2:] == [None, None]
    assert found.operators[0].emitted_rate == pytest.approx(200)


def test_streams_of_an_operator_without_logic_divide_by_their_selectivities() -> None:
    of = watched("s>a:3", "s>k", "a>k")
    found = in_four_seconds(of, {"level": 0, "arrivals": 400, "emitted": 1600})
    assert [stream.rate for stream in found.streams] == pytest.approx([300, 100, 0])
    assert [stream.selectivity for stream in found.streams][:2] == pytest.approx([3, 1])


def test_what_leaves_the_query_is_on_no_stream() -> None:
    found = in_four_seconds(watched("s>k"), {"level": 1, "arrivals": 40, "emitted": 40})
    assert found.operators[1].emitted_rate == 0


def test_waits_are_what_tuples_age_between_operators() -> None:
    """Due at 0, taken in at 5 ms, handled for 10 ms, and 40 ms old when they come to the sink."""
    of = watched("s>k")
    counted = {"arrivals": 100, "emitted": 100, "timed": 100}
    source = {"level": 0, "age_seconds": 0.5, "busy_seconds": 1.0, **counted}
    found = in_four_seconds(of, source, {"level": 1, "age_seconds": 4.0, **counted})
    assert [load.waiting_ms for load in found.operators] == pytest.approx([5, 25])
    assert found.sojourn_ms == pytest.approx(5 + 10 + 25)


def test_tuples_in_buffers_have_their_sojourn_still_before_them() -> None:
    """Of 100 tuples that the source has sent, 20 are through: each for 10 ms, after 30 ms."""
    of = watched("s>k")
    source = {"level": 0, "arrivals": 100, "emitted": 100, "timed": 100}
    sink = {"level": 1, "arrivals": 20, "timed": 20, "busy_seconds": 0.2, "age_seconds": 0.6}
    assert in_four_seconds(of, source, sink).sojourn_ms == pytest.approx(40)
    assert in_four_seconds(of, source).sojourn_ms is None


def test_the_cpu_of_operators_in_other_processes_is_not_known() -> None:
    of = replace(watched("s>a", "a>k"), outside=frozenset({1}))
    found = in_four_seconds(of, {"level": 1, "arrivals": 10, "cpu_seconds": 1.0}).operators
    assert [load.cpu for load in found] == [0, None, 0]


def test_one_input_causes_what_the_measured_selectivities_say() -> None:
    """The spec says 1.0 for all streams, but `a` passes a tenth; `b` has handled nothing."""
    of = watched("s>a", "a>b", "b>k:2", logic={"s": PASS, "a": PASS})
    source = {"level": 0, "arrivals": 400, "emitted": 400}
    found = in_four_seconds(of, source, {"level": 1, "arrivals": 400, "emitted": 40})
    assert found.caused_by_one == pytest.approx([1, 1, 0.1, 0.2])
    assert found.caused(np.array([50.0, 0, 0, 0])) == pytest.approx([50, 50, 5, 10])
