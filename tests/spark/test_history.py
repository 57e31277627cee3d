"""Snapshots kept: all of the last ones, fewer of those before, never more than so many."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("pyspark")

from slotwise.spark.metering.history import MOST_OLDER, History
from slotwise.spark.metering.meters import MeterSnapshot

KEPT_S = 60.0


def after(seconds: int, apart_s: float = 1.0) -> History:
    history = History(KEPT_S)
    for second in range(seconds + 1):
        history.append(MeterSnapshot(second * apart_s, (), ()))
    return history


def times(snapshots: list[MeterSnapshot]) -> list[float]:
    return [snapshot.time for snapshot in snapshots]


@pytest.mark.parametrize("seconds", [60, 61, 1000, 100_000])
def test_a_window_up_to_what_is_kept_has_every_snapshot(seconds: int) -> None:
    history = after(seconds)
    for last_s in (2, 3, 59, 60):
        expected = [float(time) for time in range(seconds - last_s, seconds + 1)]
        assert times(history.since(seconds - last_s)) == expected


def test_a_window_begins_at_the_nearest_report() -> None:
    history = after(100, apart_s=0.998)
    end = 99.8
    assert times(history.since(end - 10))[0] == pytest.approx(end - 10 * 0.998)
    assert times(history.since(end - 10.4))[0] == pytest.approx(end - 10 * 0.998)
    assert times(history.since(end - 10.6))[0] == pytest.approx(end - 11 * 0.998)


def test_a_window_has_two_snapshots_if_there_are_two() -> None:
    assert times(after(9).since(8.9)) == [8, 9]
    assert times(after(0).since(0.0)) == [0]
    assert History(KEPT_S).since(0.0) == []


def test_kept_snapshots_are_bounded_and_the_first_stays() -> None:
    history = after(200_000)
    assert len(history) <= MOST_OLDER + KEPT_S + 2
    found = times(history.whole())
    assert (found[0], found[-1]) == (0, 200_000)
    apart = {late - early for early, late in itertools.pairwise(found[:-1])}
    assert len(apart) == 1
    assert len(found) >= MOST_OLDER / 2


def test_a_short_run_is_kept_whole() -> None:
    assert times(after(500).whole()) == list(range(501))
    assert History(KEPT_S).whole() == []


def test_forget_keeps_where_the_next_window_begins() -> None:
    history = after(100_000)
    history.forget()
    assert times(history.whole()) == [100_000]
    history.append(MeterSnapshot(100_001, (), ()))
    assert times(history.whole()) == times(history.since(0.0)) == [100_000, 100_001]
