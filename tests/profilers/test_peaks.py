"""Which thread counts are tried, when that ends, and the stairs of paper 1's procedure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from slotwise.model import SlotwiseError
from slotwise.profilers import peaks
from slotwise.profilers.peaks import Staircase, no_longer_grows, saturation, thread_counts
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
    found = [peak(threads, rate) for threads, rate in zip((1, 2, 3, 4, 6), rates, strict=False)]
    assert no_longer_grows(found) is ends


def test_a_rate_is_stable_while_the_latency_grows_slowly() -> None:
    staircase = Staircase(steepest=10.0)
    assert staircase.is_stable(replace(trial(), latency_slope=9.9))
    assert staircase.is_stable(replace(trial(), latency_slope=None))
    assert not staircase.is_stable(replace(trial(), latency_slope=10.1))


QUARTER = SimpleNamespace(cores=0.25)
CASE = SimpleNamespace(name="pi")


def trials_of(monkeypatch: pytest.MonkeyPatch, floods: list[Any], stable_at: float = 1.0) -> None:
    """Each flood shows the next (rate, cores); a trial below it takes 0.4 ms of CPU per tuple."""
    shown = iter(floods)

    def made(bench: Any, case: Any, threads: int, rate: float | None, *args: Any, **_: Any) -> Any:
        if rate is None:
            flooded, cores = next(shown)
            return replace(trial(threads, flooded, stable=False), cpu_cores=cores)
        return replace(trial(threads, rate, rate <= stable_at * 1e4), cpu_cores=4e-4 * rate)

    monkeypatch.setattr(peaks, "trial", made)


def test_an_operator_is_flooded_again_if_java_was_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials_of(monkeypatch, [(160.0, 0.22), (550.0, 0.22)])
    found = saturation(QUARTER, CASE, 1)  # type: ignore[arg-type]
    assert found.confirmed.rate == pytest.approx(0.97 * 550)
    assert len(found.tried) == 4


@pytest.mark.parametrize("flood", [(550.0, 0.22), (100.0, 0.06)])
def test_one_flood_is_enough_if_it_shows_the_cpu_of_the_tuples(
    flood: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that waits leaves the slot idle: what its tuples take is chance."""
    trials_of(monkeypatch, [flood])
    assert len(saturation(QUARTER, CASE, 1).tried) == 2  # type: ignore[arg-type]


def test_floods_end_also_if_tuples_get_ever_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    trials_of(monkeypatch, [(100.0, 0.25)] * 9)
    assert len(saturation(QUARTER, CASE, 1).tried) == 2 * peaks.MOST_FLOODS  # type: ignore[arg-type]


def test_an_operator_that_is_never_stable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    trials_of(monkeypatch, [(550.0, 0.22)], stable_at=0.0)
    with pytest.raises(SlotwiseError, match="not stable at any rate"):
        saturation(QUARTER, CASE, 1)  # type: ignore[arg-type]
