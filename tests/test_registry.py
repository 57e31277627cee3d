"""Names and options as users write them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from slotwise import plugins, registry
from slotwise.model import Choice, Scheduler, SlotwiseError


def test_an_unknown_name_is_told_with_the_nearest_or_with_all_there_are() -> None:
    with pytest.raises(SlotwiseError, match="unknown allocator 'mbaa': did you mean 'mba'"):
        registry.allocator(Choice("mbaa"))
    with pytest.raises(SlotwiseError, match="expected one of largest-first, cheapest"):
        registry.provisioner(Choice("x"))


def test_names_are_checked_family_by_family() -> None:
    """`p-deployer` is an allocator and a placer; `auto` leaves any family to the planner."""
    known = Choice("p-deployer")
    registry.check_names(Scheduler(allocator=known, placer=known))
    registry.check_names(Scheduler(*[Choice("auto")] * 3))
    with pytest.raises(SlotwiseError, match="unknown provisioner 'p-deployer'"):
        registry.check_names(Scheduler(provisioner=known))


def test_auto_is_suggested_though_no_class_stands_behind_it() -> None:
    with pytest.raises(SlotwiseError, match="did you mean 'auto'"):
        registry.check_names(Scheduler(placer=Choice("autoo")))


def test_an_unknown_option_is_told_with_those_there_are() -> None:
    with pytest.raises(SlotwiseError, match="has no option 'speed': expected one of processors"):
        registry.allocator(Choice("drs", {"speed": 1}))
    with pytest.raises(SlotwiseError, match="has no option 'speed': there are none"):
        registry.allocator(Choice("lsa", {"speed": 1}))


def test_an_option_that_cannot_work_is_told_with_its_algorithm() -> None:
    with pytest.raises(SlotwiseError, match="placer 'round-robin': "):
        registry.placer(Choice("round-robin", {"workers": 0}))


@pytest.mark.parametrize(
    ("family", "given", "problem"),
    [
        ("allocator", "drs:processors=2.5", "processors: invalid value '2.5': expected an integer"),
        ("allocator", "drs:processors=many", "expected an integer"),
        ("allocator", "drs:processors=5000000", "expected an integer from 1 to 1,000,000"),
        ("allocator", "drs:processors=0", "expected an integer from 1 to 1,000,000"),
        ("allocator", "drs:latency_ms=nan", "latency_ms: invalid value 'nan': expected a finite"),
        ("allocator", "drs:latency_ms=0", "latency_ms: invalid value '0.0': expected a number > 0"),
        ("allocator", "drs:latency_ms=9,processors=9", "expected only one of the options"),
        ("placer", "p-deployer:saving_weight=nan", "saving_weight: invalid value 'nan'"),
        ("placer", "p-deployer:saving_weight=-inf", "saving_weight: invalid value '-inf'"),
        ("placer", f"p-deployer:saving_weight={10**400}", "expected a finite number"),
        ("placer", "partition:seed=99999999999999999999", "expected an integer from 0 to"),
        ("placer", "partition:seed=1.0", "seed: invalid value '1.0': expected an integer"),
    ],
)
def test_an_option_of_the_wrong_type_or_size_is_refused(
    family: str, given: str, problem: str
) -> None:
    with pytest.raises(SlotwiseError, match=f"^{family} '[a-z-]+': ") as error:
        getattr(registry, family)(registry.choice(given))
    assert problem in str(error.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True])
def test_no_algorithm_takes_what_is_not_a_finite_number(value: float) -> None:
    for noun, family in registry.FAMILIES.items():
        for name, path in family.built_in.items():
            for option in plugins.options(plugins.imported(path)):
                with pytest.raises(SlotwiseError, match=f"^{noun} '{name}': {option}: invalid"):
                    getattr(registry, noun)(Choice(name, {option: value}))


def test_options_that_are_meant_as_floats_are_floats() -> None:
    made: Any = registry.placer(Choice("p-deployer", {"saving_weight": 2}))
    assert isinstance(made.saving_weight, float)


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(SlotwiseError, match="duplicate option 'alpha' in 'topology:"):
        registry.choice("topology:alpha=0.2, alpha=0.3")


def test_options_are_numbers_where_they_look_like_numbers() -> None:
    assert registry.choice("x:a=1, b=0.5,c=fast") == Choice("x", {"a": 1, "b": 0.5, "c": "fast"})
    with pytest.raises(SlotwiseError, match="invalid option 'a' in 'x:a'"):
        registry.choice("x:a")
