"""What the contracts of all families have in common."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from slotwise import plugins, registry
from slotwise.model import Refusal

T = TypeVar("T")


class Algorithm(Protocol):
    """Of any family."""

    @property
    def name(self) -> str: ...


def check_all(cases: SearchStrategy[T], check: Callable[[T], Any], examples: int) -> None:
    """Run `check` on so many random cases; hypothesis reports the smallest one that fails."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(cases)
    def holds(case: T) -> None:
        check(case)

    holds()


def answer_to(verb: Callable[..., T], *arguments: Any) -> T:
    """What the algorithm answers; the arguments are not changed, and equal ones give the same."""
    before = copy.deepcopy(arguments)
    answer = verb(*arguments)
    assert arguments == before, "the arguments were changed"
    assert answer == verb(*before), "the same input gave another answer"
    return answer


def check_fits(noun: str, algorithm: Algorithm) -> None:
    """It has the shape that the registry asks of a member of the family."""
    protocol = plugins.imported(registry.FAMILIES[noun].protocol)
    assert list(plugins.misfits(type(algorithm), algorithm.name, protocol)) == []


def check_refusal(algorithm: Algorithm, refusal: Refusal) -> None:
    """It says who refuses, for which operator or for want of what, and a possible amount."""
    assert refusal.algorithm == algorithm.name
    assert refusal.explanation
    assert refusal.operator or refusal.resource
    if refusal.missing is not None:
        assert math.isfinite(refusal.missing)
        assert refusal.missing > 0
