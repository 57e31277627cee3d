"""Profiles of several forms, measurements and platforms."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from slotwise.model import (
    Hop,
    Measurement,
    ModelError,
    Platform,
    ProfileForms,
    Profiles,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)

TABLE = ThreadTable((ThreadRow(1, 10.0, 0.25, 0.1), ThreadRow(2, 16.0, 0.5, 0.2)))
SERVICE = ServiceRate(12.0, cpu=0.3, mem=0.1, arrival_scv=0.5, service_scv=0.25)
COSTS = TaskCosts(cpu_points=2.0, transfer_points=0.5, memory_mb=1.0, sojourn_ms=80.0)
MEASURED = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", cores=0.25)


def seen(*forms: ThreadTable | TaskCosts | ServiceRate) -> Profiles:
    """One operator, `o`, with these forms."""
    kinds = {ThreadTable: "table", TaskCosts: "costs", ServiceRate: "service"}
    given = ProfileForms(**{kinds[type(form)]: form for form in forms})  # type: ignore[arg-type]
    return Profiles({"o": given}, 1000.0)


def test_a_form_that_is_there_is_taken() -> None:
    profiles = seen(TABLE, SERVICE, COSTS)
    assert profiles.table("o") == TABLE
    assert profiles.service("o") == SERVICE
    assert profiles.costs("o") == COSTS
    assert (profiles.service_scv("o"), profiles.arrival_scv("o")) == (0.25, 0.5)
    assert profiles.transfer_cpu("o") == 0.005
    assert not any(profiles.derived("o", form) for form in (ThreadTable, TaskCosts, ServiceRate))
    assert profiles.fixed("o") is None


def test_a_form_that_is_missing_is_converted_from_the_table_first() -> None:
    of_table, of_service = Profiles({"o": TABLE}, 1000.0), Profiles({"o": SERVICE}, 1000.0)
    assert seen(TABLE, COSTS).service("o") == of_table.service("o")
    assert seen(TABLE, SERVICE).costs("o") == of_table.costs("o")
    assert seen(SERVICE, COSTS).table("o") == of_service.table("o")
    assert seen(TABLE, COSTS).derived("o", ServiceRate)


def test_one_form_without_a_measurement_is_that_form() -> None:
    assert seen(TABLE) == Profiles({"o": TABLE}, 1000.0)
    measured = Profiles({"o": ProfileForms(TABLE, measurement=MEASURED)}, 1000.0)
    assert measured != seen(TABLE)
    assert measured.measurement("o") == MEASURED
    assert seen(TABLE).measurement("o") is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: ProfileForms(measurement=MEASURED),
        lambda: Measurement("yesterday", "4.3.0", "17", "x"),
        lambda: Measurement("2026-11-18", "4.3.0", "17", "x", cores=0.0),
        lambda: Measurement("2026-11-18", "4.3.0", "17", "x", trials=0),
        lambda: Measurement("2026-11-18", "4.3.0", "17", "x", source="guess"),  # type: ignore[arg-type]
        lambda: Platform(slot_cpu=-1.0),
        lambda: Platform(cores=0.0),
        lambda: Platform(in_slot=Hop(delay_ms=math.inf)),
        lambda: Platform(between_nodes=Hop(send_us=1e-20)),
    ],
)
def test_impossible_figures_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ModelError, match="expected"):
        make()


def test_whole_numbers_become_floats() -> None:
    platform = Platform(slot_cpu=1, in_node=Hop(send_us=2), cores=1)
    assert isinstance(platform.slot_cpu, float)
    assert isinstance(platform.in_node.send_us, float)


def test_a_platform_without_figures_delays_nothing() -> None:
    assert Platform().delay_ms(Hop(), 1e9) == 0.0


def test_the_wait_in_a_send_buffer_falls_with_the_rate_and_the_record() -> None:
    hop = Hop(delay_ms=4.0)
    small = Platform(in_node=hop, flush_ms=5.0, buffer_bytes=32768.0, record_kb=0.5)
    large = Platform(in_node=hop, flush_ms=5.0, buffer_bytes=32768.0, record_kb=5.0)
    assert small.delay_ms(hop, 6400.0) == 4.0
    assert large.delay_ms(hop, 6400.0) == pytest.approx(4.0 - (5.0 - 1.0) / 2)
    assert large.delay_ms(hop, math.inf) == pytest.approx(1.5)
