"""Indices of dispersion: what is known of Poisson flows, bursts, turns and keys."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.prediction.dispersion import WINDOWS, Flow, Windows

ONE = np.ones(WINDOWS)
POISSON = Flow(ONE, ONE)
windows = Windows.for_services(np.array([0.0, 1.0, 2.0]))


def behind(time_s: float, flow: Flow) -> Flow:
    """After a queue with that relaxation time, and as long a mean delay."""
    let_through = windows.let_through(np.array([time_s]))[0]
    return flow.delayed(windows.kept(time_s), let_through, ONE)


def test_windows_reach_from_far_below_to_far_above_the_service_times() -> None:
    assert windows.lengths_s[0] == pytest.approx(0.05)
    assert windows.lengths_s[-1] == pytest.approx(60_000)
    assert Windows.for_services(np.zeros(2)).lengths_s[0] > 0


def test_an_index_is_read_between_windows_and_at_the_ends() -> None:
    rising = np.tile(np.log(windows.lengths_s), (4, 1))
    found = windows.at(rising, np.array([1e-9, 1.0, 37.0, 1e9]))
    ends = np.log([0.05, 1.0, 37.0, 60_000])
    assert found == pytest.approx(ends, abs=1e-6)


def test_poisson_stays_poisson_behind_a_queue_and_at_random() -> None:
    assert behind(3.0, POISSON).counts == pytest.approx(ONE)
    assert POISSON.by_key(np.array([0.3]))[0] == pytest.approx(ONE)
    assert POISSON.at_random(np.array([0.3]))[0] == pytest.approx(ONE)


def test_a_burst_counts_as_many_as_come_at_once() -> None:
    three = POISSON.emitted(windows, 3.0, 1.0)
    assert three.counts == pytest.approx(3 * ONE)
    assert three.kin == pytest.approx(3 * ONE)
    # One key for all of them: they stay together. Dealt out in turn to as many, they do not.
    assert three.by_key(np.array([0.25]))[0] == pytest.approx(3 * ONE)
    assert POISSON.in_turn(windows, 3.0, 1.0, np.array([1 / 3]))[0] == pytest.approx(ONE)


def test_every_second_tuple_is_as_even_as_erlang_2_in_the_end() -> None:
    every_second = POISSON.emitted(windows, 0.5, 1.0)
    assert every_second.counts[0] == pytest.approx(1.0, abs=0.1)
    assert every_second.counts[-1] == pytest.approx(0.5, abs=0.001)
    in_turn = POISSON.in_turn(windows, 1.0, 1.0, np.array([0.5]))[0]
    assert in_turn == pytest.approx(every_second.counts)


def test_many_senders_look_random_for_longer() -> None:
    few = POISSON.in_turn(windows, 1.0, 10.0, np.array([0.1]))[0]
    many = POISSON.in_turn(windows, 1.0, 0.1, np.array([0.1]))[0]
    assert np.all(many >= few)
    assert many[-1] == pytest.approx(few[-1], abs=0.01)


def test_a_burst_is_apart_after_a_delay_over_short_windows_only() -> None:
    three = POISSON.emitted(windows, 3.0, 1.0)
    delayed = behind(10.0, three)
    assert delayed.counts[0] == pytest.approx(1.0, abs=0.2)
    assert delayed.counts[-1] == pytest.approx(3.0, abs=0.01)
    assert np.all(np.diff(delayed.counts) >= 0)
    assert np.all(np.diff(delayed.kin) >= 0)
    assert behind(0.0, three).counts == pytest.approx(three.counts, abs=0.01)


def test_a_busier_queue_lets_less_of_a_burst_through() -> None:
    weights = windows.let_through(np.array([1.0, 10.0, 1e300]))
    assert np.all((weights >= 0) & (weights <= 1))
    assert np.all(np.diff(weights, axis=0) <= 0)
    assert weights[2].max() < 0.04  # what never empties sends as it serves
    # Far beyond the relaxation time, 1 - 1/2t.
    scale = windows.lengths_s[-40:]
    exact = 1 - 1 / (2 * scale)
    assert weights[0, -40:][scale < 1000] == pytest.approx(exact[scale < 1000], abs=1e-3)
