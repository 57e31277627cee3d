"""One histogram for simulator and meters: what it counts where, and what it gives back."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise import sketch

JAVA = (
    Path(__file__).parents[1] / "jvm" / "test" / "org" / "slotwise" / "meters" / "SketchTest.java"
)
VECTORS = re.findall(r"^ {6}(\S+) (\d+)$", JAVA.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("seconds", "bucket"), VECTORS)
def test_buckets_are_those_of_the_java_meters(seconds: str, bucket: str) -> None:
    assert sketch.bucket(float(seconds)) == int(bucket)


def test_the_java_vectors_were_found() -> None:
    assert len(VECTORS) > 15


def counted(*seconds: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    counts = np.zeros(sketch.BUCKETS, np.int64)
    for each in seconds:
        counts[sketch.bucket(each)] += 1
    return counts


@given(st.floats(1e-7, 60_000.0))
def test_the_middle_is_within_0_4_percent(seconds: float) -> None:
    found = sketch.bucket(seconds)
    low, high = sketch.edges_s(np.arange(found, found + 2))
    assert low <= seconds < high
    assert abs(sketch.middle_s(found) / seconds - 1) < 0.004
    # By the definition: 128 equal parts of every doubling from 2⁻²⁴ on.
    doubling = math.frexp(seconds)[1] - 1
    assert found == 128 * (doubling + 24) + math.floor((seconds / 2.0**doubling - 1) * 128)


@given(st.lists(st.floats(1e-6, 1000.0), min_size=1, max_size=50), st.floats(0.0, 1.0))
def test_quantile_and_mean_of_what_was_counted(seconds: list[float], q: float) -> None:
    counts = counted(*seconds)
    exact = sorted(seconds)[max(1, math.ceil(q * len(seconds))) - 1]
    assert sketch.quantile_s(counts, q) == pytest.approx(exact, rel=0.004)
    assert sketch.mean_s(counts) == pytest.approx(math.fsum(seconds) / len(seconds), rel=0.004)


def test_no_answer_is_longer_than_the_longest() -> None:
    assert sketch.quantile_s(counted(1.0), 1.0, largest_s=1.0) == 1.0
    assert sketch.quantile_s(counted(100_000.0), 0.5, largest_s=100_000.0) == 100_000.0


def test_nothing_counted_has_neither_quantiles_nor_a_mean() -> None:
    assert sketch.quantile_s(counted(), 0.5) is None
    assert sketch.mean_s(counted()) is None
