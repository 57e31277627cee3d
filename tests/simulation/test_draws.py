"""Random numbers: the right distributions, a function of their index only."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from slotwise.simulation.kernels.draws import (
    DETERMINISTIC,
    EXPONENTIAL,
    GAMMA_SHAPED,
    LOGNORMAL,
    SAMPLES,
    service_factor,
    thread_keys,
)

COUNT = 100_000
KEY = thread_keys(1, 0, 1)[0]
NONE = np.empty(0)


def drawn(kind: int, shape: float, samples: np.ndarray = NONE) -> np.ndarray:
    return np.array([service_factor(kind, shape, samples, KEY, i) for i in range(COUNT)])


@pytest.mark.parametrize(
    ("kind", "shape", "expected"),
    [
        (EXPONENTIAL, 0.0, stats.expon()),
        (GAMMA_SHAPED, 0.4, stats.gamma(0.4, scale=1 / 0.4)),
        (GAMMA_SHAPED, 4.0, stats.gamma(4.0, scale=1 / 4.0)),
        (LOGNORMAL, 0.8, stats.lognorm(0.8, scale=np.exp(-0.32))),
    ],
)
def test_service_times_have_their_distribution(kind: int, shape: float, expected: object) -> None:
    found = drawn(kind, shape)
    assert stats.kstest(found, expected.cdf).pvalue > 0.01
    assert found.mean() == pytest.approx(1, abs=4 * found.std() / COUNT**0.5)


def test_deterministic_and_recorded_service_times() -> None:
    assert np.all(drawn(DETERMINISTIC, 0.0) == 1)
    counts = np.unique(drawn(SAMPLES, 0.0, np.array([0.5, 1.0, 1.5])), return_counts=True)[1]
    assert counts / COUNT == pytest.approx([1 / 3] * 3, abs=0.01)


def test_threads_and_parts_have_numbers_of_their_own() -> None:
    keys = np.concatenate([thread_keys(0, 0, 1000), thread_keys(0, 1, 1000), thread_keys(1, 0, 9)])
    assert len(np.unique(keys)) == len(keys)
    first, second = (
        [service_factor(EXPONENTIAL, 0.0, NONE, key, i) for i in range(2000)] for key in keys[:2]
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.06
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.06
