"""Figures: floats whatever was given, within a range that can be computed with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from slotwise.model import (
    Bundle,
    Cluster,
    FixedLoad,
    ModelError,
    NetworkDelays,
    Node,
    Operator,
    OperatorAllocation,
    Profiles,
    ServiceRate,
    Stream,
    TaskCosts,
    ThreadRow,
    VmType,
)
from slotwise.model.limits import LARGEST, SMALLEST
from tests.builders import topology

GIVEN = (
    Node("n", 8, 28, 1, 1),
    VmType("v", 8, 28, 1, 1),
    Cluster((Node("n", 8, 28),), 3),
    ThreadRow(1, 2, 1, 0),
    TaskCosts(1, 0, 1, 1),
    ServiceRate(10, 1, 0, 1, 1),
    FixedLoad(2, 1, 0),
    Profiles({}, 1024),
    NetworkDelays(0, 1, 2, 3),
    Operator("o", share=2),
    Stream("a", "b", 2),
    Bundle(1, 1, 0),
    OperatorAllocation("o", 10, (), "", 1),
)


@pytest.mark.parametrize("value", GIVEN, ids=lambda value: type(value).__name__)
def test_integers_become_floats_where_floats_are_meant(value: Any) -> None:
    for field in fields(value):
        if field.type == "float":
            assert type(getattr(value, field.name)) is float, field.name


def test_counts_stay_integers() -> None:
    assert type(Node("n", np.int64(8), 28).slots) is int  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"slots of 'n' is 2.0: expected an integer ≥ 1"):
        Node("n", 2.0, 28)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"threads is 1.5: expected an integer ≥ 1"):
        FixedLoad(1.5)  # type: ignore[arg-type]


MADE_OF: dict[str, Callable[[float], Any]] = {
    "speed of 'n'": lambda figure: Node("n", 1, 1.0, speed=figure),
    "price_per_hour of 'v'": lambda figure: VmType("v", 1, 1.0, price_per_hour=figure),
    "memory_gb per slot of 'v'": lambda figure: VmType("v", 1, figure),
    "slot_memory_gb": lambda figure: Cluster((Node("n", 1, 1.0),), figure),
    "slot_memory_mb": lambda figure: Profiles({}, figure),
    "rate of 'o'": lambda figure: Profiles({"o": ServiceRate(figure)}, 1.0),
    "sojourn_ms of 'o'": lambda figure: Profiles({"o": TaskCosts(1.0, sojourn_ms=figure)}, 1.0),
    "network rack_ms": lambda figure: NetworkDelays(rack_ms=figure),
    "selectivity of stream a → b": lambda figure: topology(f"a>b:{figure}"),
}


@pytest.mark.parametrize("what", MADE_OF)
def test_figures_beyond_the_range_are_refused(what: str) -> None:
    make = MADE_OF[what]
    make(SMALLEST)
    make(LARGEST)
    for figure in (SMALLEST / 2, 1e-300, LARGEST * 2, 1e300):
        with pytest.raises(ModelError) as error:
            make(figure)
        assert str(error.value) == f"{what} is {figure:g}: expected a number from 1e-12 to 1e+12"
    for figure in (math.nan, math.inf, -1.0):
        with pytest.raises(ModelError, match="expected a number"):
            make(figure)


def test_an_integer_beyond_floats_is_refused() -> None:
    with pytest.raises(ModelError, match="expected a number > 0"):
        Node("n", 1, 10**400)
