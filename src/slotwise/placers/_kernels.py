"""Kernels that several placers share; the references are in tests/placers/test_workers.py."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def fill_least_loaded(
    groups: NDArray[np.int64], loads: NDArray[np.float64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Per item, one of the bins first[g] … first[g+1]-1 of its group g: the least loaded so far,
    of equals the one with the fewest items, then the lowest.
    """
    load = np.zeros(first[-1])
    count = np.zeros(first[-1], np.int64)
    chosen = np.empty(len(groups), np.int64)
    for item in range(len(groups)):
        best = first[groups[item]]
        for other in range(best + 1, first[groups[item] + 1]):
            if load[other] < load[best] or (
                load[other] == load[best] and count[other] < count[best]
            ):
                best = other
        load[best] += loads[item]
        count[best] += 1
        chosen[item] = best
    return chosen
