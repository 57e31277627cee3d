from __future__ import annotations

from collections.abc import Callable

import pytest

from slotwise.model import ModelError, Schedule


def test_a_sine_is_periodic_and_keeps_the_mean() -> None:
    sine = Schedule.sine(60, 0.5)
    times, factors = zip(*sine.points, strict=True)
    assert (times[0], times[-1], sine.period_s) == (0, 60, 60)
    assert max(factors) == 1.5
    assert min(factors) == 0.5
    assert sum(factors[1:]) / len(factors[1:]) == pytest.approx(1)


def test_a_burst_is_at_the_end_of_its_period() -> None:
    assert Schedule.burst(60, 5, 3).points == ((0, 1), (55, 1), (55, 3), (60, 3))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Schedule(()), "start at second 0"),
        (lambda: Schedule(((1.0, 1.0),)), "start at second 0"),
        (lambda: Schedule(((0.0, 1.0), (5.0, 1.0), (4.0, 1.0))), "be in order"),
        (lambda: Schedule(((0.0, 1.0), (float("inf"), 1.0))), "be in order"),
        (lambda: Schedule.ramp(9, 3, 2), "be in order"),
        (lambda: Schedule(((0.0, -1.0),)), "must be 0 or more"),
        (lambda: Schedule(((0.0, float("nan")),)), "must be 0 or more"),
        (lambda: Schedule(((0.0, 0.0),)), "needs a factor greater than 0"),
        (lambda: Schedule(((0.0, 0.0), (5.0, 0.0), (5.0, 1.0)), period_s=5.0), "greater than 0"),
        (lambda: Schedule(((0.0, 1.0), (5.0, 1.0)), period_s=3.0), "must not end before"),
        (lambda: Schedule(((0.0, 1.0),), period_s=0.0), "must not end before"),
        (lambda: Schedule.sine(1.0, 2.0), "invalid amplitude of a sine: 2.0: expected 0 to 1"),
        (lambda: Schedule.burst(3, 4, 2), "a burst of 4 s does not fit a period of 3 s"),
    ],
)
def test_what_is_no_schedule(make: Callable[[], Schedule], problem: str) -> None:
    with pytest.raises(ModelError, match=problem):
        make()


def test_a_period_may_go_on_after_the_last_point() -> None:
    assert Schedule(((0.0, 0.0), (5.0, 1.0)), period_s=6.0).period_s == 6


def test_stairs_hold_each_factor_for_a_step() -> None:
    assert Schedule.stairs([1, 2, 3], step_s=8.0).points == (
        (0.0, 1.0),
        (8.0, 1.0),
        (8.0, 2.0),
        (16.0, 2.0),
        (16.0, 3.0),
        (24.0, 3.0),
    )


def test_the_factor_at_a_time() -> None:
    """At a jump, the one after it; between points, linear; past the end, the last or repeated."""
    step = Schedule.step(at_s=10, factor=3)
    assert [step.at(second) for second in (0, 9.9, 10, 99)] == [1, 1, 3, 3]
    assert [Schedule.ramp(10, 20, 3).at(second) for second in (5, 15, 20, 30)] == [1, 2, 3, 3]
    burst = Schedule.burst(period_s=10, length_s=2, factor=4)
    assert [burst.at(second) for second in (7, 8, 9.9, 10, 18, 27.9)] == [1, 4, 4, 1, 4, 1]
