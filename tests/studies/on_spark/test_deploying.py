"""Both searches for a number of machines, with tries that say what a test wants."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from slotwise.model import Plan
from slotwise.studies.convergence import machines_of, p_deployer_plan
from slotwise.studies.on_spark import deploying
from slotwise.studies.on_spark.climbing import Step
from slotwise.studies.on_spark.deploying import (
    BETTER,
    MOST_MACHINES,
    MOST_ROUNDS,
    Attempt,
    Try,
    dearer,
    holds,
    metis,
    overhead_of,
    p_deployer,
)
from tests.studies.on_spark.deployable import linear
from tests.studies.on_spark.made import step

LINEAR = linear("io", "cpu", "sojourn", "memory")


def with_at_least(machines: int, full: float = 1.0) -> Try:
    """So many machines are enough for 100/s, more in proportion; all are full up to `full`."""

    def tried(plan: Plan, rates: Sequence[float]) -> list[Step]:
        enough = 100 * machines_of(plan) / machines
        return [
            replace(
                step(rate, stable=rate <= enough),
                throughput=min(rate, enough),
                slot_cpu=(full,) * MOST_MACHINES,
            )
            for rate in rates
        ]

    return tried


@pytest.mark.parametrize(
    ("change", "is_held"),
    [
        ({}, True),
        ({"throughput": 98.1}, True),
        ({"throughput": 97.9}, False),
        ({"throughput": None}, False),
        ({"latency_ms": 501.0}, False),
        ({"latency_ms": None}, False),
        ({"stable": None}, False),
        ({"stable": False}, False),
    ],
)
def test_a_target_holds_if_the_run_is_stable_fast_and_keeps_pace(
    change: dict[str, float | None], is_held: bool
) -> None:
    assert holds(replace(step(100.0), **change)) is is_held  # type: ignore[arg-type]


def test_one_of_two_windows_shows_that_a_target_holds() -> None:
    plan = p_deployer_plan(LINEAR, 50.0)
    late = step(50.0, stable=False)
    assert Attempt(plan, 1, (50.0,), (late, step(50.0))).holds(50.0)
    assert not Attempt(plan, 1, (50.0, 90.0), (step(50.0),)).holds(90.0)


@pytest.mark.parametrize("machines", [2, 3])
def test_p_deployer_ends_with_the_plan_that_holds(machines: int) -> None:
    found = p_deployer(LINEAR, 100.0, with_at_least(machines))
    assert found.machines == {100.0: found.attempts[-1].machines}
    assert found.attempts[-1].machines >= machines
    assert all(attempt.machines < machines for attempt in found.attempts[:-1])


def test_each_plan_is_better_than_those_that_failed() -> None:
    """Machines that took nothing teach nothing: only the rate that it plans for grows."""
    found = p_deployer(LINEAR, 50.0, with_at_least(99, full=0.0))
    capacities = [each.plan.predicted.capacity for each in found.attempts]  # type: ignore[union-attr]
    assert 1 < len(capacities) <= MOST_ROUNDS
    for one, other in itertools.pairwise(capacities):
        assert other >= BETTER * one
    assert found.machines == {50.0: None}


def test_p_deployer_ends_where_more_machines_would_be_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deploying, "MOST_MACHINES", 2)
    found = p_deployer(LINEAR, 100.0, with_at_least(99))
    assert found.machines == {100.0: None}
    assert max(attempt.machines for attempt in found.attempts) <= 2


def test_the_overhead_is_what_machines_took_beyond_the_profiles() -> None:
    """At 50/s, of six operators; used slots count up to their quota."""
    plan = p_deployer_plan(LINEAR, 50.0)
    seen = replace(step(100.0), throughput=50.0, slot_cpu=(1.3, 0.9, 0.9, 0.9, 0.9, 0.9))
    attempt = Attempt(plan, 1, (100.0,), (seen,))
    assert plan.placement.used_slots.tolist() == [0]
    in_profiles = 50 * sum(
        LINEAR.profiles.costs(name).cpu_points / 100 for name in ("io", "cpu", "sojourn", "memory")
    )
    assert overhead_of(LINEAR, attempt, 100.0) == pytest.approx((1 - in_profiles) / 6)


def test_a_plan_that_did_not_get_so_far_teaches_nothing() -> None:
    attempt = Attempt(p_deployer_plan(LINEAR, 50.0), 1, (100.0,), ())
    assert overhead_of(LINEAR, attempt, 100.0) == 0.0


def test_each_operator_is_charged_its_share_at_the_target() -> None:
    before, after = (
        p_deployer_plan(pipeline, 50.0).allocation
        for pipeline in (LINEAR, dearer(LINEAR, 50.0, 0.04))
    )
    more = [new.cpu - old.cpu for new, old in zip(after, before, strict=True)]
    assert more == pytest.approx([0.04] * 6)


def test_corrected_profiles_do_not_change_what_is_predicted_of_a_plan() -> None:
    found = p_deployer(LINEAR, 100.0, with_at_least(3))
    assert all(attempt.plan.pipeline == LINEAR for attempt in found.attempts)


def test_metis_gets_machines_until_all_targets_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploying, "HOPELESS", 0.0)
    found = metis(LINEAR, (50.0, 100.0), ("sojourn",), with_at_least(4))
    assert found.machines == {50.0: 2, 100.0: 4}
    assert [attempt.rates for attempt in found.attempts] == [
        (50.0, 100.0),
        (50.0, 100.0),
        (100.0,),
        (100.0,),
    ]


def test_metis_may_need_too_many_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deploying, "HOPELESS", 0.0)
    found = metis(LINEAR, (50.0, 100.0), ("sojourn",), with_at_least(9))
    assert found.machines == {50.0: 5, 100.0: None}


def test_plans_of_metis_without_a_chance_are_not_tried() -> None:
    found = metis(LINEAR, (10_000.0,), (), with_at_least(1))
    assert found.attempts == ()
