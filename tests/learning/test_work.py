"""Profiles corrected by what was measured, form by form."""

from __future__ import annotations

import pytest

from slotwise.learning.work import Correction, OwnWork
from slotwise.model import (
    FixedLoad,
    Profile,
    ProfileForms,
    Profiles,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)

TABLE = ThreadTable((ThreadRow(1, 10.0, 0.2, 0.1), ThreadRow(4, 30.0, 0.8, 0.4)))


def corrected(profile: Profile, correction: Correction) -> Profile:
    profiles = Profiles({"work": profile}, 1024.0)
    again = {"work": correction.of(profiles, "work", 1.0)}
    return Profiles(again, 1024.0)["work"]


def figures(profile: Profile) -> object:
    """Rates and CPU of its table, row by row."""
    assert isinstance(profile, ThreadTable)
    return pytest.approx([each for row in profile.rows for each in (row.rate, row.cpu)])


def test_a_service_rate_takes_the_measured_time_and_cpu() -> None:
    # 10 ms and 5 ms of CPU per tuple; measured 20 ms and 5 ms.
    found = corrected(ServiceRate(100.0, cpu=0.5, mem=0.1), Correction(time=2.0))
    assert found == ServiceRate(50.0, cpu=0.25, mem=0.1)


def test_no_thread_is_faster_than_its_slot() -> None:
    # 5 ms of CPU become 20 ms: 100/s are out of reach.
    found = corrected(ServiceRate(100.0, cpu=0.5), Correction(cpu=4.0))
    assert found == ServiceRate(50.0, cpu=1.0)


def test_a_table_keeps_its_shape() -> None:
    found = corrected(TABLE, Correction(time=2.0, cpu=2.0))
    assert figures(found) == [5.0, 0.2, 15.0, 0.8]


def test_but_for_rows_whose_slot_is_full() -> None:
    assert figures(corrected(TABLE, Correction(cpu=2.0))) == [10.0, 0.4, 18.75, 1.0]


def test_task_costs_take_the_time_as_sojourn() -> None:
    costs = TaskCosts(cpu_points=1.0, transfer_points=0.05, memory_mb=2.0)
    assert corrected(costs, Correction(time=3.0, cpu=1.5)) == TaskCosts(1.5, 0.05, 2.0, 30.0)
    assert corrected(costs, Correction()) == costs


def test_a_variation_is_kept_where_there_is_a_service_rate() -> None:
    assert corrected(ServiceRate(100.0), Correction(service_scv=0.2)) == ServiceRate(
        100.0, service_scv=0.2
    )
    found = corrected(TABLE, Correction(service_scv=0.2))
    assert isinstance(found, ProfileForms)
    assert found.table == TABLE
    assert found.service == ServiceRate(7.5, 0.2, 0.1, service_scv=0.2)


def test_a_fixed_load_stays() -> None:
    assert corrected(FixedLoad(2, 0.5), Correction(2.0, 2.0, 3.0)) == FixedLoad(2, 0.5)


def test_own_work_without_the_engines_cpu() -> None:
    assert OwnWork.of(200.0, 2.0, 0.6, None) == OwnWork(0.002, 0.002, None)
    assert OwnWork.of(200.0, 2.0, 0.6, None, whole=True) == OwnWork(0.002, 0.003, None)
    assert OwnWork.of(0.0, 2.0, 0.6, None) is None
    assert OwnWork.of(200.0, None, 0.6, None) is None
