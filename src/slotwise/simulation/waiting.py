"""Tuples that wait when a simulation begins, and how long ago their inputs came due."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slotwise.model import ModelError, Topology
from slotwise.rates import ArrivalRates

Floats = NDArray[np.float64]


def due_times_s(
    topology: Topology, rates: ArrivalRates, waiting: Mapping[str, float]
) -> dict[int, Floats]:
    """Per operator with waiting tuples, when their inputs came due, oldest first; all before 0.

    Tuples go through operators in line, so what waits at an operator came before what waits ahead
    of it: n tuples that arrive at λ per second stand for the n/λ seconds before those. Counts are
    rounded. O(operators + streams + tuples); where ways have loops, once around.
    """
    counts = _counts(topology, waiting)
    reach_s = np.zeros(len(counts))
    found = {}
    for position in topology.order:
        before = [topology.edges[stream][0] for stream in topology.inputs[position]]
        start_s = max((reach_s[each] for each in before), default=0.0)
        rate, count = float(rates.operators[position]), int(counts[position])
        span_s = count / rate if rate > 0 else 0.0
        reach_s[position] = start_s + span_s
        if count:
            found[position] = -start_s - span_s * (np.arange(count, 0, -1) - 0.5) / count
    return found


def _counts(topology: Topology, waiting: Mapping[str, float]) -> NDArray[np.int64]:
    counts = np.zeros(len(topology.operators), dtype=np.int64)
    for name, count in waiting.items():
        if name not in topology.index:
            raise ModelError(
                f"tuples wait for '{name}', but topology '{topology.name}' has no such operator"
            )
        if not 0 <= count < np.inf:
            raise ModelError(f"{count} tuples wait for '{name}': expected a number ≥ 0")
        counts[topology.index[name]] = round(count)
    return counts
