"""What is missing is told where the least is missing."""

from __future__ import annotations

import numpy as np
import pytest

from slotwise.placers._shortfall import shortfall


@pytest.mark.parametrize(
    ("cpu_left", "mem_left", "resource", "missing"),
    [
        ([0.4, 0.1], [0.3, 0.9], "cpu", 0.1),
        ([0.9, 0.9], [0.0, 0.15], "memory", 0.05),
        ([0.0, 0.45], [0.2, 0.05], "memory", 0.15),
    ],
)
def test_the_place_that_comes_closest_decides(
    cpu_left: list[float], mem_left: list[float], resource: str, missing: float
) -> None:
    told = shortfall(0.5, 0.2, np.array(cpu_left), np.array(mem_left))
    assert told == (resource, pytest.approx(missing))
