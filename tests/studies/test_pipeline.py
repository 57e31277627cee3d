from __future__ import annotations

from slotwise.studies.pipeline import LOADS, OVERLOAD, RATES
from tests.studies.quick import quick


def test_the_pipeline_carries_more_and_holds_less_than_filling_slot_by_slot() -> None:
    rates = quick("pipeline").table(RATES)
    assert min(rates.column("pipeline over slot by slot %")) > 20  # type: ignore[type-var, operator]
    assert min(rates.column("pipeline over r-storm %")) > 20  # type: ignore[type-var, operator]
    loads = quick("pipeline").table(LOADS)
    for load, pipeline, in_order, r_storm in zip(
        *(
            loads.column(name)
            for name in ("load", "pipeline held", "slot by slot held", "r-storm held")
        ),
        strict=True,
    ):
        if load == OVERLOAD:
            assert pipeline < min(in_order, r_storm)  # type: ignore[operator, type-var]


def test_steps_cost_latency_and_no_throughput() -> None:
    study = quick("pipeline")
    loads = study.table(LOADS)
    for stepped, free in zip(
        loads.column("pipeline ms"), loads.column("pipeline, no steps ms"), strict=True
    ):
        assert stepped > free  # type: ignore[operator]
    rates = study.table(RATES)
    for stepped, free in zip(
        rates.column("pipeline tuples/s"), rates.column("pipeline, no steps tuples/s"), strict=True
    ):
        assert abs(stepped / free - 1) < 0.02  # type: ignore[operator]


def test_what_does_not_come_out_as_in_the_paper_is_said() -> None:
    assert "do not come out" in quick("pipeline").remarks[0]
