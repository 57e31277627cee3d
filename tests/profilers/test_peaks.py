"""Which thread counts are tried, when that ends, and the stairs of paper 1's procedure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Literal

import pytest

from slotwise.model import Operator
from slotwise.profilers.bench import Idle
from slotwise.profilers.operators import Procedure
from slotwise.profilers.peaks import Staircase, is_full, no_longer_grows, thread_counts
from tests.profilers.made import peak, trial


@pytest.mark.parametrize(
    ("most", "counts"),
    [
        (0, []),
        (1, [1]),
        (2, [1, 2]),
        (5, [1, 2, 3, 4]),
        (32, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]),
    ],
)
def test_thread_counts(most: int, counts: list[int]) -> None:
    assert list(thread_counts(most)) == counts


@pytest.mark.parametrize(
    ("kind", "counts", "tried"),
    [
        ("operator", None, [1, 2, 3, 4, 6, 8]),
        ("operator", (1, 4, 16), [1, 4]),
        ("sink", (1, 4, 16), [1]),
    ],
)
def test_given_counts_are_tried_up_to_the_most(
    kind: Literal["operator", "sink"], counts: tuple[int, ...] | None, tried: list[int]
) -> None:
    procedure = Procedure(most_threads=8, most_end_threads=1, counts=counts)
    assert procedure.counts_of(Operator("any", kind)) == tried


@pytest.mark.parametrize(
    ("rates", "ends"),
    [
        ([100], False),
        ([100, 100], False),  # two counts are no window
        ([100, 200, 300], False),
        ([100, 101, 99], True),
        ([100, 102, 101.5], True),
        ([100, 100, 100, 150], False),
        ([300, 200, 100], True),
        ([100, 200, 210, 205, 208], True),
    ],
)
def test_it_ends_when_the_rate_no_longer_grows(rates: list[float], ends: bool) -> None:
    peaks = [peak(threads, rate) for threads, rate in zip((1, 2, 3, 4, 6), rates, strict=False)]
    assert no_longer_grows(peaks) is ends


@pytest.mark.parametrize(("cores", "full"), [(0.25, True), (0.3, False), (None, False)])
def test_a_slot_is_full_when_its_quota_is_used_up(cores: float | None, full: bool) -> None:
    """0.25 cores for the operator in the trials, and 0.02 for the idle slot."""
    bench = SimpleNamespace(cores=cores, idle=Idle(0.02, 47.0))
    assert is_full(bench, peak()) is full  # type: ignore[arg-type]


def test_a_rate_is_stable_while_the_latency_grows_slowly() -> None:
    staircase = Staircase(steepest=10.0)
    assert staircase.is_stable(replace(trial(), latency_slope=9.9))
    assert staircase.is_stable(replace(trial(), latency_slope=None))
    assert not staircase.is_stable(replace(trial(), latency_slope=10.1))
