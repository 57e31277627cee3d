"""Which thread counts are tried, when that ends, and the stairs of paper 1's procedure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from slotwise.model import Operator, SlotwiseError
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
from slotwise.profilers.trial import Peak, Trial
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


def test_an_operator_that_is_never_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason with the lowest rate that was tried; 70 % of what it handled when flooded."""

    def never(bench: object, case: object, threads: int, rate: float | None, *_: object, **__: Any):  # type: ignore[no-untyped-def]
        return replace(trial(threads, rate or 100.0, stable=False), offered_rate=rate)

    monkeypatch.setattr(peaks, "trial", never)
    case = SimpleNamespace(name="pi")
    reason = (
        "operator 'pi' with 2 threads is not stable at any rate that was tried, down to 70.0 "
        "tuples/s: its latency grows without end"
    )
    with pytest.raises(SlotwiseError, match=reason):
        Saturation()(None, case, 2)  # type: ignore[arg-type]


def test_a_rate_is_stable_while_the_latency_grows_slowly() -> None:
    staircase = Staircase(steepest=10.0)
    assert staircase.is_stable(replace(trial(), latency_slope=9.9))
    assert not staircase.is_stable(replace(trial(), latency_slope=10.1))


def test_where_nothing_comes_out_a_rate_is_stable_if_the_run_keeps_pace() -> None:
    assert Staircase().is_stable(replace(trial(), latency_slope=None))
    assert not Staircase().is_stable(replace(trial(stable=False), latency_slope=None))
    behind = replace(trial(), latency_slope=None, offered_rate=60.0, rate=49.7)
    assert not Staircase().is_stable(behind)


class Stairs:
    """A bench for an operator whose threads take `service_ms`, and which takes 0.25 cores at
    `capacity`; there are 0.5 beside those of an idle slot.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capacity: float, service_ms: float) -> None:
        self.capacity, self.service_ms, self.offered = capacity, service_ms, list[float]()
        self.cores, self.idle = 0.52, Idle(0.02, 47.0)
        monkeypatch.setattr(peaks, "trial", self.trial)
        monkeypatch.setattr(peaks, "measured", self.measured)
        monkeypatch.setattr(peaks, "advance", lambda run, seconds: None)
        monkeypatch.setattr(peaks, "await_tuples", lambda run: None)

    @contextmanager
    def running(self, *_: object, **__: object) -> Iterator[Any]:
        yield SimpleNamespace(now_s=lambda: 0.0)

    def trial(
        self, bench: object, case: object, threads: int, rate: float, times: object, **given: bool
    ) -> Trial:
        self.offered.append(rate)
        handled, is_stable = min(rate, self.capacity), rate <= self.capacity
        return replace(
            trial(threads, handled, is_stable),
            offered_rate=rate,
            cpu_cores=0.25 * handled / self.capacity,
            memory_mb=64.0 if given.get("memory") else None,
            service_ms=self.service_ms,
            latency_slope=0.0 if is_stable else 99.0,
        )

    def measured(
        self, bench: object, case: object, run: object, rate: float, seconds: float
    ) -> Trial:
        return self.trial(bench, case, 2, rate, None)

    def peak(self, procedure: Staircase, most: float | None = None) -> Peak:
        return procedure(self, SimpleNamespace(name="pi"), 2, most)  # type: ignore[arg-type]


def test_stairs_end_at_the_first_rate_that_is_not_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Stairs(monkeypatch, 100.0, 4.0).peak(Staircase(30.0))
    assert (found.confirmed.rate, found.confirmed.memory_mb) == (90.0, 64.0)
    assert found.confirmed in found.tried
    assert [each.offered_rate for each in found.tried] == [30.0, 60.0, 90.0, 120.0, 90.0]
    assert found.remark is None


def test_stairs_begin_at_any_step(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Stairs(monkeypatch, 100.0, 4.0)
    assert bench.peak(Staircase(2.0, first=48)).confirmed.rate == 100.0
    with pytest.raises(SlotwiseError, match="not stable at any rate that was tried, down to 102"):
        bench.peak(Staircase(2.0, first=51))


@pytest.mark.parametrize(
    ("service_ms", "most", "capacity"),
    [
        (4.0, None, 200.0),  # the slot's CPU, of which 100/s take half; threads could do 500/s
        (20.0, None, 100.0),  # the threads
        (4.0, 150.0, 150.0),  # as much each as one thread did
    ],
)
def test_a_step_is_a_twentieth_of_what_threads_and_slot_can_do(
    monkeypatch: pytest.MonkeyPatch, service_ms: float, most: float | None, capacity: float
) -> None:
    bench = Stairs(monkeypatch, 100.0, service_ms)
    bench.peak(Staircase(), most)
    assert bench.offered[2] == pytest.approx(capacity / 20)


def test_a_peak_that_no_step_reached_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Stairs(monkeypatch, 1000.0, 4.0).peak(Staircase(1.0))
    assert found.confirmed.rate == 60.0
    assert found.remark is not None
    assert "stable in all 60 steps, up to 60.0 tuples/s: it may be faster" in found.remark
