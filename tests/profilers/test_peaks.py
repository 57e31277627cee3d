"""Which thread counts are tried, when that ends, and the stairs of paper 1's procedure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from slotwise.model import Operator
from slotwise.profilers import peaks
from slotwise.profilers.bench import Idle
from slotwise.profilers.operators import Procedure, profiled
from slotwise.profilers.peaks import (
    Saturation,
    Staircase,
    estimated_capacity,
    is_full,
    no_longer_grows,
    thread_counts,
)
from slotwise.profilers.trial import Peak
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
    tried = [peak(threads, rate) for threads, rate in zip((1, 2, 3, 4, 6), rates, strict=False)]
    assert no_longer_grows(tried) is ends


@pytest.mark.parametrize(("cores", "full"), [(0.25, True), (0.3, False), (None, False)])
def test_a_slot_is_full_when_its_quota_is_used_up(cores: float | None, full: bool) -> None:
    """0.25 cores for the operator in the trials, and 0.02 for the idle slot."""
    bench = SimpleNamespace(cores=cores, idle=Idle(0.02, 47.0))
    assert is_full(bench, peak()) is full  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cores", "service_ms", "capacity"),
    [
        (0.52, 4.0, 200.0),  # 100/s took half of the CPU that an idle slot leaves
        (2.0, 4.0, 500.0),  # two threads, 4 ms each
        (None, 4.0, 500.0),
        (0.52, None, 100.0),
    ],
)
def test_the_capacity_that_a_stable_trial_leaves(
    cores: float | None, service_ms: float | None, capacity: float
) -> None:
    bench = SimpleNamespace(cores=cores, idle=Idle(0.02, 47.0))
    seen = replace(trial(2), service_ms=service_ms)
    assert estimated_capacity(bench, seen) == pytest.approx(capacity)  # type: ignore[arg-type]


def test_more_threads_are_offered_half_as_much_again_as_they_can_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two did 100/s: six do 300 at the most."""
    asked: list[float | None] = []

    def find_peak(bench: object, case: object, threads: int, most: float | None = None) -> Peak:
        asked.append(most)
        return peak(threads, 50.0 * threads)

    case = SimpleNamespace(operator=Operator("any"), name="any", input=None, emits=True)
    procedure = Procedure(find_peak, counts=(2, 6), with_costs=False)
    bench = SimpleNamespace(cores=0.5, slot_memory_mb=512, idle=Idle(0.02, 47.0))
    profiled(bench, case, procedure, {})  # type: ignore[arg-type]
    assert asked == [None, 300.0]


def saturated(monkeypatch: pytest.MonkeyPatch, flooded: float, capacity: float) -> Peak:
    """By an operator that takes 0.25 cores at `capacity`, of which a flood lets `flooded` through;
    there are 0.25 beside those of an idle slot.
    """

    def made(bench: object, case: object, threads: int, rate: float | None, *_: object, **__: Any):  # type: ignore[no-untyped-def]
        handled = flooded if rate is None else rate
        cores = 0.25 * handled / capacity
        seen = replace(trial(threads, handled, handled <= capacity), cpu_cores=cores)
        return replace(seen, offered_rate=rate, service_ms=1.0)

    monkeypatch.setattr(peaks, "trial", made)
    bench = SimpleNamespace(cores=0.27, idle=Idle(0.02, 47.0))
    return Saturation()(bench, None, 2)  # type: ignore[arg-type]


def test_a_confirmed_rate_is_just_below_the_capacity(monkeypatch: pytest.MonkeyPatch) -> None:
    found = saturated(monkeypatch, 100.0, 100.0)
    assert found.confirmed.rate == pytest.approx(97.0)
    assert len(found.tried) == 2


def test_what_a_flood_hides_is_found_by_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = saturated(monkeypatch, 40.0, 100.0)
    assert found.confirmed.rate == pytest.approx(92.0)
    assert [each.offered_rate for each in found.tried[1:]] == pytest.approx([38.8, 92.0])


def test_a_rate_is_stable_while_the_latency_grows_slowly() -> None:
    staircase = Staircase(steepest=10.0)
    assert staircase.is_stable(replace(trial(), latency_slope=9.9))
    assert staircase.is_stable(replace(trial(), latency_slope=None))
    assert not staircase.is_stable(replace(trial(), latency_slope=10.1))
