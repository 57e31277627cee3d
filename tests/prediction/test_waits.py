"""Waits at one thread against queues whose mean wait is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from slotwise.prediction.dispersion import WINDOWS, Flow, Windows
from slotwise.prediction.waits import waits

ONE = np.ones(WINDOWS)
BUSY = np.array([0.2, 0.5, 0.8, 0.95])
windows = Windows.for_services(np.ones(1))


def mean_wait(index: np.ndarray, scv: float) -> np.ndarray:
    """At BUSY threads with service times of mean 1."""
    same = np.ones(len(BUSY))
    return waits(windows, BUSY, same, scv * same, np.broadcast_to(index, (4, WINDOWS))).mean_s


@pytest.mark.parametrize("scv", [0.0, 1.0, 3.0])
def test_poisson_arrivals_wait_as_pollaczek_and_khinchine_say(scv: float) -> None:
    assert mean_wait(ONE, scv) == pytest.approx(BUSY / (1 - BUSY) * (1 + scv) / 2)


@pytest.mark.parametrize("size", [2.0, 10.0])
def test_batches_wait_for_batches_and_within(size: float) -> None:
    # M^X/M/1 with batches of one size.
    expected = (2 * BUSY + size - 1) / (2 * (1 - BUSY))
    assert mean_wait(size * ONE, 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("threads", [2, 5, 20])
def test_turns_of_one_sender_wait_as_erlang_arrivals_do(threads: int) -> None:
    poisson = Flow(ONE, ONE)
    for busy in (0.5, 0.8, 0.95):
        share = np.array([1 / threads])
        index = poisson.in_turn(windows, 1.0, busy * threads, share)
        one = np.ones(1)
        found = waits(windows, busy * one, one, one, index).mean_s[0]
        # GI/M/1: σ = A*(1 - σ), and the mean time is 1 / (1 - σ).
        rate = threads * busy
        sigma = brentq(lambda x, r=rate: (r / (r + 1 - x)) ** threads - x, 0, 1 - 1e-6)
        assert 1 + found == pytest.approx(1 / (1 - sigma), rel=0.06)


def test_a_thread_without_work_or_with_too_much_gets_no_wait() -> None:
    rate = np.array([0.0, 1.0, 1.5])
    found = waits(windows, rate, np.ones(3), np.ones(3), np.tile(ONE, (3, 1)))
    assert found.mean_s.tolist() == [0, 0, 0]
    stuck = found.without_bound(rate >= 1)
    assert stuck.mean_s.tolist() == [0, np.inf, np.inf]
