"""CP-SAT, set up to give the same answer every time: one thread, a fixed seed, no clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slotwise.model.allocation import TOLERANCE
from slotwise.model.limits import MOST

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpSolver

SCALE = 10**12
"""CP-SAT counts in whole numbers: a slot's CPU and memory are that many units."""
MOST_VARIABLES = 10_000
"""With more counts than this a search gets nowhere in reasonable time, so none is made."""


def solver(effort: float) -> CpSolver:
    """A solver that stops after `effort` deterministic seconds, a few times as many real ones."""
    from ortools.sat.python import cp_model

    made = cp_model.CpSolver()
    made.parameters.num_workers = 1
    made.parameters.random_seed = 0
    made.parameters.max_deterministic_time = effort
    return made


def need_units(need: float) -> int:
    """Rounded up, so that what fits in units fits; one unit is far below the tolerance."""
    return math.ceil(need * SCALE - 0.01)


def capacity_units(capacity: float) -> int:
    """Rounded down. No plan needs more than MOST slots of anything, and CP-SAT has 64 bits."""
    return math.floor((min(capacity, MOST) + TOLERANCE) * SCALE) - 1
