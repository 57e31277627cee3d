"""How much of a pipeline this machine can hold."""

from __future__ import annotations

import pytest

import slotwise
from slotwise.cli import USAGE, run
from slotwise.model import ModelError, Pipeline, Plan, SlotwiseError
from slotwise.spark import scaling
from slotwise.spark.cluster import Site
from slotwise.spark.scaling import at_scale, factor, fits, fitted, plan_for


def planned(pipeline: Pipeline) -> Plan:
    return slotwise.plan(pipeline, allocator="lsa", placer="round-robin")


def machine(monkeypatch: pytest.MonkeyPatch, cores: int = 2, *, memory: bool = True) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(scaling, "has_memory", lambda *_: memory)


@pytest.mark.parametrize("text", ["0", "2", "-1", "1/0", "half", "nan", "", "3/2"])
def test_a_scale_is_a_part(text: str) -> None:
    with pytest.raises(ModelError, match="invalid scale"):
        factor(text)
    assert run(["run", "linear", f"--scale={text}"]) == USAGE


def test_a_part_of_the_rate_and_of_the_nodes() -> None:
    made = at_scale(slotwise.load("chain"), 1 / 4, planned)
    assert made.plan.rate == made.plan.pipeline.goals.rate == 250
    assert [node.name for node in made.plan.cluster.nodes] == ["node-a-1", "node-b-1"]
    assert str(made) == "scaled to 1/4: 250 tuples/s, 10 slots"


def test_more_nodes_if_the_threads_need_them() -> None:
    """8 workers take two nodes of 5 slots, whatever the rate."""
    made = at_scale(slotwise.load("chain"), 1 / 64, planned)
    assert len(made.plan.cluster.nodes) == 2


def test_machines_are_bought_for_the_lower_rate() -> None:
    whole, part = (at_scale(slotwise.load("linear"), each, planned) for each in (1.0, 0.25))
    assert part.plan.rate == 25
    assert part.plan.cluster.slots < whole.plan.cluster.slots


def test_the_largest_power_of_two_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch)
    pipeline, site = slotwise.load("linear"), Site()
    made = fitted(pipeline, site, planned)
    assert fits(made.plan, site)
    assert made.factor < 1
    assert not fits(at_scale(pipeline, 2 * made.factor, planned).plan, site)


def test_a_larger_machine_holds_more(monkeypatch: pytest.MonkeyPatch) -> None:
    factors = []
    for cores in (1, 2, 64):
        machine(monkeypatch, cores)
        factors.append(fitted(slotwise.load("linear"), Site(), planned).factor)
    assert factors == sorted(factors)
    assert factors[0] < factors[-1]


def test_what_fits_at_no_rate_is_not_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, memory=False)
    assert fitted(slotwise.load("tapering"), Site(), planned).factor == 1


def test_a_given_rate_and_an_existing_master_are_not_scaled() -> None:
    pipeline = slotwise.load("linear")
    assert plan_for(pipeline, 100, None, Site(), planned).factor == 1
    assert plan_for(pipeline, None, None, Site("spark://host:1"), planned).factor == 1
    assert plan_for(pipeline, 100, 0.5, Site(), planned).plan.rate == 50


def test_a_plan_is_never_scaled() -> None:
    with pytest.raises(SlotwiseError, match="a plan cannot be scaled"):
        slotwise.run(planned(slotwise.load("chain")), scale=0.5)
