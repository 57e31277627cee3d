"""Trials and profiles that nobody measured, for quick tests."""

from __future__ import annotations

from slotwise.model import (
    Measurement,
    ProfileForms,
    ServiceRate,
    TaskCosts,
    ThreadRow,
    ThreadTable,
)
from slotwise.profilers.trial import Peak, Profiled, Trial

MEASURED = Measurement("2026-11-18T09:30:00Z", "4.3.0", "17.0.1", "Some CPU", 0.5, 512.0, 6, 0.02)


def trial(threads: int = 1, rate: float = 100.0, stable: bool = True) -> Trial:
    return Trial(
        operator="pi",
        threads=threads,
        offered_rate=None if rate > 1000 else rate,
        rate=rate,
        emitted_rate=2 * rate,
        cpu_cores=0.25,
        memory_mb=64.0 if stable else None,
        service_ms=4.0,
        service_scv=0.5,
        latency_ms=9.5,
        latency_slope=0.01,
        stable=stable,
        spread=0.02,
        seconds=10.0,
        source="node",
        next_hop="slot",
    )


def peak(threads: int = 1, rate: float = 100.0) -> Peak:
    confirmed = trial(threads, rate)
    return Peak(threads, confirmed, (trial(threads, 2 * rate, stable=False), confirmed))


ROWS = (
    ThreadRow(1, 100.0, 0.51, 0.125),
    ThreadRow(2, 180.0, 0.93, 0.13),
    ThreadRow(4, 175.0, 1.0, 0.15),
)
PROFILED = Profiled(
    "pi",
    ProfileForms(
        ThreadTable(ROWS),
        TaskCosts(0.25, 0.02, 0.001, 8.0),
        ServiceRate(125.0, cpu=0.5, arrival_scv=0.9, service_scv=0.04),
        MEASURED,
    ),
    tuple(peak(row.threads, row.rate) for row in ROWS),
    (trial(),),
    selectivity=2.0,
    remarks=("the slot was full with 2 threads",),
)
