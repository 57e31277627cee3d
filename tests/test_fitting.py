"""Machines and places together: bought ones and given ones are used alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import slotwise
from slotwise import registry
from slotwise.model import FixedLoad, Pipeline, Profiles, Refused, ServiceRate, VmType
from tests import builders

CASES = Path(__file__).parent / "cases"


def test_memory_is_bounded_by_the_machine_whether_it_is_bought_or_given() -> None:
    """A thread takes 1.3 slots of memory, on machines of two slots: paper 3 allows that."""
    bought = slotwise.plan(CASES / "pd-mem.yaml")
    given = slotwise.plan(CASES / "pd-mem2.yaml")
    assert bought.placement.slots.tolist() == given.placement.slots.tolist()
    assert bought.predicted is not None
    assert given.predicted is not None
    assert bought.predicted.operators == given.predicted.operators
    assert bought.predicted.nodes[0].mem == given.predicted.nodes[0].mem


@pytest.mark.parametrize("case", ["pd-mem", "pd-mem2"])
def test_a_placer_that_bounds_the_memory_of_slots_refuses_both(case: str) -> None:
    with pytest.raises(Refused, match=r"'b' needs? a slot with 0.25 cpu and 1.302 memory"):
        slotwise.plan(CASES / f"{case}.yaml", placer="sam")


def with_cpu(cpu: float, **machines: Any) -> Pipeline:
    """One operator that takes so much CPU at 100 tuples/s."""
    profiles = Profiles({"in": FixedLoad(), "a": ServiceRate(100.0, cpu)}, 3584.0)
    return Pipeline(builders.topology("in>a"), profiles, **machines)


@pytest.mark.parametrize(
    "machines",
    [{"cluster": builders.cluster(1)}, {"catalog": (VmType("fast", 4, 14.0, speed=2e6),)}],
)
def test_more_slots_than_a_plan_may_have_are_refused_at_once(machines: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"slots are needed \(2000000.00") as error:
        slotwise.plan(with_cpu(2e6, **machines), 100.0, allocator="lsa", placer="sam")
    assert error.value.refusal.final


@pytest.mark.parametrize("placer", ["round-robin", "sam", "p-deployer"])
@pytest.mark.parametrize("rate", [500, 600, 4000])
def test_how_many_machines_are_enough(placer: str, rate: float) -> None:
    """As many as the bisection from far above finds."""
    pipeline = with_cpu(0.9, cluster=builders.cluster(1, slots=2))
    with pytest.raises(Refused, match=r"(\d+) machines are enough") as error:
        slotwise.plan(pipeline, rate, allocator="mba", placer=placer)
    enough = int(error.value.refusal.explanation.split(" machines are enough")[0].split()[-1])

    def planned(machines: int) -> bool:
        given = replace(pipeline, cluster=builders.cluster(machines, slots=2))
        try:
            return bool(slotwise.plan(given, rate, allocator="mba", placer=placer))
        except Refused:
            return False

    assert [planned(count) for count in (enough - 1, enough)] == [False, True]


@pytest.mark.parametrize("placer", registry.PLACERS)
def test_slots_that_nothing_forces_are_not_extra(placer: str) -> None:
    """Two slots are enough, eight are given; some placers spread the threads over more."""
    pipeline = with_cpu(0.5, cluster=builders.cluster(2))
    plan = slotwise.plan(pipeline, 400, allocator="lsa", placer=placer)
    assert plan.allocation.slots == 2
    assert plan.extra_slots == 0
    assert not any("extra slot" in reason for reason in plan.reasons)


def test_slots_that_the_placer_needs_are_extra_on_given_machines_too() -> None:
    """Three threads of 0.6 slots each: 2 slots are paid for, and no two fit in one."""
    pipeline = with_cpu(0.6, cluster=builders.cluster(2))
    given = slotwise.plan(pipeline, 300, allocator="lsa", placer="sam")
    bought = slotwise.plan(
        with_cpu(0.6, catalog=(VmType("m", 4, 14.0),)), 300, allocator="lsa", placer="sam"
    )
    assert (given.slots, given.extra_slots) == (bought.slots, bought.extra_slots) == (3, 1)
    reasons = [r for plan in (given, bought) for r in plan.reasons if "1 extra slot, because" in r]
    assert reasons[0] == reasons[1]


def test_predicted_memory_is_what_the_allocator_charges() -> None:
    plan = slotwise.plan(CASES / "pd-mem4.yaml")
    assert plan.predicted is not None
    machine = plan.predicted.nodes[0]
    assert machine.mem == pytest.approx(plan.allocation.mem / 2) == pytest.approx(3000 / 3072)
