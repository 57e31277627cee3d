"""What a run finishes, what is left, and whether it keeps pace: seconds of s>a>k, made up."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Goals, Observation
from slotwise.spark.metering.observe import observe
from tests.spark.plans import PASS
from tests.spark.snapshots import START, Second, meter, snapshot, story, watched


def seen(*seconds: Second, offered: float = 100.0, **of: object) -> Observation:
    return observe(watched("s>a", "a>k", offered=offered, **of), story(seconds))


def test_a_run_that_keeps_pace() -> None:
    found = seen(*[Second()] * 20)
    assert found.stable is True
    assert found.throughput == pytest.approx(100)
    assert found.capacity is None
    assert found.backlog == 0
    assert found.remarks == ()
    assert [load.utilisation for load in found.threads] == pytest.approx([0, 0.4, 0])
    assert found.bottleneck == "a"


def test_what_a_source_pushes_into_buffers_is_not_throughput() -> None:
    """2,640/s got into the query and 1,689/s came out of it."""
    busy = Second(taken=2640, handled=1689, busy=0.7)
    late = [Second(**{**vars(busy), "late": 0.4 * t, "latency": 0.4 * t}) for t in range(1, 21)]
    found = seen(*late, offered=4400)
    assert found.throughput == pytest.approx(1689, rel=0.001)
    assert found.capacity == found.throughput
    assert found.stable is False
    assert found.bottleneck == "a"
    assert found.backlog == pytest.approx(4400 * 8, rel=0.01)
    assert max(load.utilisation for load in found.threads) > 2
    assert "1,689 of 4,400 inputs/s leave the pipeline" in found.remarks


def test_what_buffers_hold_from_before_counts_when_it_comes_out() -> None:
    """The source is blocked and takes in 31/s; 123/s come out."""
    seconds = [Second(31, 123, 123, 1.0, late=20 + 0.9 * t, latency=40 + t) for t in range(20)]
    found = seen(*seconds, offered=310)
    assert found.throughput == pytest.approx(123)
    assert found.capacity == pytest.approx(123)
    assert found.stable is False
    assert found.backlog == pytest.approx(310 * (20 + 0.9 * 19), rel=0.01)


@pytest.mark.parametrize("latency", [4.6, 3.8])
def test_a_backlog_that_does_not_shrink_is_not_stable(latency: float) -> None:
    """As much comes out as comes due, but everything 4.6 s late: it does all that it can."""
    found = seen(*[Second(busy=0.8, latency=latency)] * 20)
    assert found.throughput == pytest.approx(100)
    assert found.latency_p50_ms == pytest.approx(1000 * latency, rel=0.01)
    assert found.stable is False
    assert found.capacity == pytest.approx(100)
    (verdict,) = Goals(latency_ms=10_000.0).judge(found)
    assert verdict.outcome == "missed"


def test_a_backlog_from_the_start_up_is_worked_off_before_anything_is_judged() -> None:
    seconds = [Second(110, busy=0.9, late=6 - 0.1 * t, latency=6 - 0.1 * t) for t in range(30)]
    found = seen(*seconds)
    assert found.stable is None
    assert found.capacity is None
    assert found.backlog == pytest.approx(310, abs=1)
    assert f"{found.backlog:.0f} tuples were due and not yet taken in at the end" in found.remarks
    assert any("about 31" in remark and "too early" in remark for remark in found.remarks)
    (verdict,) = Goals(rate=100.0).judge(found)
    assert verdict.outcome == "not tested"


def test_a_window_too_short_to_see_a_backlog_shrink_is_not_judged() -> None:
    assert seen(Second(latency=5.0), Second(latency=5.0)).stable is None
    assert seen(Second(latency=0.05), Second(latency=0.05)).stable is True
    # But what comes out is counted, however short the window is.
    held_back = [Second(10, late=0.9 * t, latency=5.0) for t in range(1, 4)]
    assert seen(*held_back).stable is False


def test_a_restart_in_the_window_is_worked_off() -> None:
    """No tuple for 4 s, and then more than come due."""
    paused = [Second()] * 6 + [Second(0, busy=0.0, late=t) for t in range(1, 5)]
    going_on = [Second(120, late=4 - 0.2 * t, latency=4 - 0.2 * t) for t in range(10)]
    found = seen(*paused, *going_on)
    assert found.stable is None
    done = seen(*paused, *going_on, *[Second(120, late=2 - 0.2 * t) for t in range(10)])
    assert done.stable is True


def test_tuples_that_were_held_up_are_not_a_latency_that_grows() -> None:
    """A stall that began before the window: its tuples come out now, the longest wait last."""
    freed = [Second(60, 80, latency=0.05 + 0.15 * t, busy=0.3) for t in range(10)]
    found = seen(*freed, offered=60.0)
    assert found.throughput == pytest.approx(80)
    assert found.latency_slope == pytest.approx(150, rel=0.05)
    assert found.stable is not False
    assert found.capacity is None


def test_a_latency_that_keeps_growing_is_not_stable() -> None:
    """By 30 ms per second: of 100 tuples, 97 are finished. One may miss that in a short window."""
    seconds = [Second(97, busy=0.9, late=0.03 * t, latency=0.1 + 0.03 * t) for t in range(20)]
    found = seen(*seconds)
    assert found.stable is False
    assert found.latency_slope == pytest.approx(30, rel=0.05)
    assert found.capacity == pytest.approx(97)
    assert "the latency grows by 30" in " ".join(found.remarks)


def test_a_pause_between_two_batches_is_neither_growth_nor_a_shortfall() -> None:
    steady, paused = [Second()] * 9, [Second(40, late=0.6, latency=0.5), Second(160, latency=0.4)]
    for seconds in (steady + paused, paused + steady, steady + paused[:1], steady[:4] + paused):
        assert seen(*seconds).stable is True


def test_a_busy_thread_that_handles_all_is_stable_and_named() -> None:
    found = seen(*[Second(busy=0.97)] * 20)
    assert found.stable is True
    assert found.remarks == ("thread 0 of 'a' is busy 97% of the time",)


def test_a_service_that_began_before_a_short_window_is_no_overload() -> None:
    """Services of 400 ms: in five seconds up to one more ends than fits into them."""
    found = seen(*[Second(2.4, busy=1.05, latency=0.6)] * 5, offered=2.4)
    assert found.stable is True
    assert max(load.utilisation for load in found.threads) == pytest.approx(1.0)


def test_a_thread_is_asked_for_what_comes_due_for_it() -> None:
    """It works all the time and handles half of what is offered; the source is held back."""
    found = seen(*[Second(50, busy=1.0, late=0.5 * t, latency=0.5 * t) for t in range(1, 41)])
    assert found.threads[1].utilisation == pytest.approx(2, rel=0.1)
    assert found.operators[1].utilisation == pytest.approx(1)


def test_a_filter_that_the_spec_does_not_know_of_is_no_shortfall() -> None:
    """`a` passes a tenth of its tuples, where the spec says all."""
    found = seen(*[Second(passed=0.1)] * 20, logic={"a": PASS})
    assert found.stable is True
    assert found.throughput == pytest.approx(100)
    assert found.streams[1].selectivity == pytest.approx(0.1)


def test_rare_tuples_at_one_sink_do_not_set_the_throughput() -> None:
    """Of four tuples that were sent to m, the last is on its way. That is no shortfall of 25 %."""
    of = watched("s>k", "s>m:0.01")
    ends = [meter(1, 0, arrivals=400), meter(1, 1, arrivals=3)]
    last = snapshot([meter(0, arrivals=400, emitted=404), *ends], {"a": 14.0})
    found = observe(of, [snapshot([], {"a": 10.0}), last])
    assert found.throughput == pytest.approx(100)
    rare = observe(watched("s>m"), [snapshot([], {"a": 10.0}), snapshot(ends[:1], {"a": 14.0})])
    assert rare.throughput == pytest.approx(100)


def test_long_services_are_not_a_backlog() -> None:
    """A second of waiting is much for an operator of 4 ms, and little for one of 300 ms."""
    slow = [Second(3, busy=0.9, latency=1.5)] * 30
    assert seen(*slow, offered=3.0).stable is True
    assert seen(*[Second(busy=0.4, latency=1.5)] * 30).stable is False


def test_micro_batches_take_their_time() -> None:
    """All tuples of 4 s come out at once: nobody is late, and the last ones are not missing."""
    batch = [Second(400, latency=5.0)] + [Second(0, busy=0.0)] * 3
    assert seen(*(batch * 6)[2:], mode="micro-batch").stable is True


def test_a_source_that_is_done_is_asked_for_nothing() -> None:
    seconds = [Second()] * 5 + [Second(0, busy=0.0, late=t) for t in range(1, 16)]
    done = [replace(second, next_in=math.inf) for second in seconds]
    found = seen(*done)
    assert found.stable is True
    assert found.backlog == 0
    assert seen(*seconds).stable is False


def test_a_source_that_pauses_as_its_schedule_says_is_asked_for_nothing() -> None:
    """Half of the time it has 100/s, and then none for half a minute."""
    working = [Second(next_in=0.004)] * 10
    pausing = [Second(0, busy=0.0, late=t, next_in=30 - t) for t in range(1, 11)]
    found = observe(replace(watched("s>a", "a>k"), is_scheduled=True), story([*working, *pausing]))
    assert found.offered_rate == pytest.approx(50, rel=0.01)
    assert found.throughput == pytest.approx(50, rel=0.01)
    assert found.stable is True
    assert found.backlog == 0


def test_a_source_that_is_held_up_has_a_backlog_since_its_next_tuple_was_due() -> None:
    held_up = [Second(50, busy=1.0, next_in=-0.5 * t, latency=0.5 * t) for t in range(1, 21)]
    found = seen(*held_up)
    assert found.backlog == pytest.approx(1000, abs=1)
    assert found.stable is False


def test_a_backlog_that_is_not_known_of_every_source_is_none() -> None:
    of = watched("s>k", threads={"s": 2})
    before = [meter(0, k, last_due=9.0) for k in range(2)]
    after = [meter(0, k, arrivals=100, last_due=last_due) for k, last_due in enumerate((9.5, None))]
    first, last = snapshot(before, {"a": 10.0}), snapshot(after, {"a": 11.0})
    assert observe(of, [first, last]).backlog is None


def test_the_backlog_of_a_batch_is_of_its_end() -> None:
    """Its executors have reported two seconds later again."""
    of = watched("s>k")
    last = snapshot([meter(0, arrivals=400, next_due=14.0)], {"a": 16.0})
    found = observe(of, [snapshot([], {"a": 10.0}), replace(last, time=14.0)])
    assert found.backlog == 0


def test_before_the_first_tuple_nothing_is_known() -> None:
    found = seen(*[Second(0, busy=0.0, late=1.0 + t) for t in range(10)])
    assert found.stable is None
    assert found.throughput == 0
    assert found.bottleneck is None
    assert found.latency_ms is None
    assert found.sojourn_ms is None


def test_the_rate_that_is_due_is_read_off_the_due_times() -> None:
    """The sources have a rate of their own, 300/s; --rate says 100/s."""
    found = seen(*[Second(300)] * 10)
    assert found.offered_rate == 100
    assert found.series is not None
    assert found.series.offered_rate == pytest.approx([300] * 10)
    assert found.stable is True


def test_start_and_end_count_from_the_clocks_zero() -> None:
    of, snapshots = watched("s>a", "a>k"), story([Second()] * 4)
    assert (observe(of, snapshots).start_s, observe(of, snapshots).end_s) == (0, 4)
    later = observe(of, snapshots[2:], START - 10)
    assert (later.start_s, later.end_s) == (12, 14)
